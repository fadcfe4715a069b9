"""The Pullbox agent of this device for programs in Python, by its Unix socket, on the standard library alone.

    import asyncio, pullbox

    async def main():
        agent = pullbox.AgentClient()
        for item in await agent.library():
            print(item.product, item.path)

    asyncio.run(main())
"""

from .client import SYSTEM_SOCKET_PATH, AgentClient, default_socket_path
from .documents import (
    AccountBonus, AccountOffer, AgentCodePreview, AgentProduct, AgentProductsResponse, AgentPublicationResponse,
    AgentPublicationsResponse, AgentStatus, AgentTransaction, CodePreview, CodeTerms, ConditionSource, Conditions, ContentFile,
    ContentFiles, ContentSection, ContentSections, DownloadCondition, DownloadState, DownloadStatus, DownloadUrgency,
    EntitledProduct, FaultKind, FeedEntry, FilePart, IgnoredCondition, LibraryChange, LibraryEvent, LibraryFault, LibraryItem,
    LibraryState, LibraryVerification, LicenseSummary, ListedPrice, MachineCondition, NetworkBudget, NetworkLimits, NetworkWindow,
    NewReaderKey, NewsEntry, OwnedContent, Ownership, OwnershipVerification, Peer, PendingPrice, Price, ProductListing,
    ProductOwnership, PublicationListing, ReaderKey, ReadingDevice, ReadingLocations, ReadingLocator, ReadingProgress,
    ReadingStatus, ReadingText, SectionPolicy, SpaceShortage, StoreAccount, StoreSubscription, SubscriptionState, UnverifiedReason,
    current, version_key,
)
from .errors import AgentError, Fault, Problem, UnexpectedResponse, Unreachable
from .events import AgentEvent, AgentEvents, EventReset, ServerSentEvent, ServerSentEventParser
from .following import AgentUpdate, Backoff, Lost, Snapshot
from .leases import LibraryLease

__all__ = [
    "SYSTEM_SOCKET_PATH", "AccountBonus", "AccountOffer", "AgentClient", "AgentCodePreview", "AgentError", "AgentEvent", "AgentEvents",
    "AgentProduct", "AgentProductsResponse", "AgentPublicationResponse", "AgentPublicationsResponse", "AgentStatus", "AgentTransaction",
    "AgentUpdate", "Backoff", "CodePreview", "CodeTerms", "ConditionSource", "Conditions", "ContentFile", "ContentFiles",
    "ContentSection", "ContentSections", "DownloadCondition",
    "DownloadState", "DownloadStatus", "DownloadUrgency", "EntitledProduct", "EventReset", "Fault", "FaultKind", "FeedEntry", "FilePart",
    "IgnoredCondition", "LibraryChange", "LibraryEvent", "LibraryFault", "LibraryItem", "LibraryLease", "LibraryState",
    "LibraryVerification", "LicenseSummary", "ListedPrice", "Lost", "MachineCondition", "NetworkBudget", "NetworkLimits",
    "NetworkWindow", "NewReaderKey", "NewsEntry", "OwnedContent", "Ownership", "OwnershipVerification", "Peer", "PendingPrice",
    "Price", "Problem", "ProductListing", "ProductOwnership", "PublicationListing", "ReaderKey", "ReadingDevice",
    "ReadingLocations", "ReadingLocator", "ReadingProgress",
    "ReadingStatus", "ReadingText", "SectionPolicy",
    "ServerSentEvent", "ServerSentEventParser", "Snapshot", "SpaceShortage", "StoreAccount", "StoreSubscription", "SubscriptionState",
    "UnexpectedResponse", "Unreachable", "UnverifiedReason", "current", "default_socket_path", "version_key",
]
