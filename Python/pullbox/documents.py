"""The documents of the agent's interface, as docs/agent.openapi.yaml of Pullbox has them, in the names of Python.

A member that is None was absent. Members and words of later agents are passed over: docs/agent.md of Pullbox says what stands in their place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from .coding import ListedWord
from .errors import Problem


class DownloadState(ListedWord):
    """Where a download stands."""

    WAITING = "waiting"
    ACTIVE = "active"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @classmethod
    def fallback(cls) -> DownloadState:
        """A word of a later agent: it is not over. A final one is never added."""
        return cls.WAITING

    @property
    def is_final(self) -> bool:
        """Whether nothing more happens to it by itself."""
        return self in (DownloadState.FINISHED, DownloadState.FAILED, DownloadState.CANCELLED)


class SectionPolicy(ListedWord):
    """When devices fetch a section."""

    REQUIRED = "required"
    PREFETCH = "prefetch"
    ON_DEMAND = "on-demand"

    @classmethod
    def fallback(cls) -> SectionPolicy:
        """A word of a later agent: nothing says that it comes by itself."""
        return cls.ON_DEMAND


class DownloadUrgency(StrEnum):
    """How urgently a download is wanted."""

    NOW = "now"
    NORMAL = "normal"
    BACKGROUND = "background"


class LibraryState(ListedWord):
    """Whether the files of an item can be used."""

    PRESENT = "present"
    OFFLINE = "offline"
    DAMAGED = "damaged"

    @classmethod
    def fallback(cls) -> LibraryState:
        """A word of a later agent: nothing says that the files can be used."""
        return cls.OFFLINE


class OwnershipVerification(ListedWord):
    """Whether an answer rests on the license of the device."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"

    @classmethod
    def fallback(cls) -> OwnershipVerification:
        """A word of a later agent: nothing says that a license does."""
        return cls.UNVERIFIED


class UnverifiedReason(StrEnum):
    """Why no license says so."""

    NO_LICENSE = "no-license"
    LICENSE_EXPIRED = "license-expired"
    NEWER_THAN_LICENSE = "newer-than-license"
    NOT_IN_LICENSE = "not-in-license"
    CONSUMABLE = "consumable"


class OwnedContent(StrEnum):
    """Where a product's content is."""

    PRESENT = "present"
    WITHDRAWN = "withdrawn"


class LibraryChange(ListedWord):
    """The change to an item of the library."""

    PLACED = "placed"
    REMOVED = "removed"
    CHANGED = "changed"

    @classmethod
    def fallback(cls) -> LibraryChange:
        """A word of a later agent: the item is told in any case."""
        return cls.CHANGED


class FaultKind(ListedWord):
    """How a file differs from its manifest."""

    MISSING = "missing"
    DAMAGED = "damaged"
    FOREIGN = "foreign"

    @classmethod
    def fallback(cls) -> FaultKind:
        """A word of a later agent: the file is not as its manifest says."""
        return cls.DAMAGED


class SubscriptionState(ListedWord):
    """Where a subscription stands."""

    ACTIVE = "active"
    BILLING_RETRY = "billing-retry"
    PAUSED = "paused"
    EXPIRED = "expired"

    @classmethod
    def fallback(cls) -> SubscriptionState:
        """A word of a later agent: it is not over, and its dates say until when it serves."""
        return cls.ACTIVE


@dataclass(frozen=True, slots=True)
class Peer:
    """How the agent's last call to a service went."""

    url: str
    reachable: bool | None = None
    last_success: datetime | None = None
    last_error: str | None = None
    last_request: str | None = None
    last_asked: datetime | None = None
    refusal: Problem | None = None


@dataclass(frozen=True, slots=True)
class NetworkWindow:
    """The times at which downloads may run, and when that changes."""

    is_open: bool
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NetworkBudget:
    """The budget of this month, in bytes, and when it begins anew."""

    limit: int
    used: int
    left: int
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class NetworkLimits:
    """The bounds of downloads: bytes a second of all together, the times at which they run, and a month's budget."""

    maximum_rate: int | None = None
    window: NetworkWindow | None = None
    budget: NetworkBudget | None = None


@dataclass(frozen=True, slots=True)
class MachineCondition:
    """A condition of the machine: ``yes``, ``no`` or ``unknown``, who tells it, and how many downloads it holds."""

    name: str
    state: str
    rule: str
    holds: int
    source: str | None = None
    device: str | None = None
    since: datetime | None = None
    level: int | None = None


@dataclass(frozen=True, slots=True)
class ConditionSource:
    """Someone who tells conditions of the machine: it ``speaks``, is ``silent`` or ``absent``."""

    name: str
    state: str
    since: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of the machine, those that no source tells included, and everyone who could tell one."""

    conditions: tuple[MachineCondition, ...]
    sources: tuple[ConditionSource, ...]


@dataclass(frozen=True, slots=True)
class DownloadCondition:
    """The condition that a download waits for, and who tells it."""

    name: str
    source: str
    since: datetime
    device: str | None = None


@dataclass(frozen=True, slots=True)
class IgnoredCondition:
    """A condition that a download passes, and the number of the user who said so."""

    name: str
    by: int | None = None


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """How the agent stands."""

    device: str
    server: Peer
    store: Peer
    started: datetime
    library_path: str
    free_space: int
    downloads: dict[str, int]
    unfinished_transactions: int
    waiting_for_room: int | None = None
    library_state: LibraryState | None = None
    library_length: int | None = None
    reserve: int | None = None
    quota: int | None = None
    network: NetworkLimits | None = None
    conditions: tuple[MachineCondition, ...] | None = None


@dataclass(frozen=True, slots=True)
class AgentTransaction:
    """A transaction of the store's queue as the agent sees it."""

    id: str
    product: str
    state: str
    step: str
    downloads: tuple[str, ...]
    reason: str | None = None
    error: Problem | None = None
    not_before: datetime | None = None
    cause: str | None = None
    title: str | None = None
    session: str | None = None
    revoked: datetime | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.step in ("finished", "failed")


@dataclass(frozen=True, slots=True)
class SpaceShortage:
    """How much room a download lacks, in bytes."""

    needed: int
    free: int
    reserve: int
    removable: int
    quota: int | None = None


@dataclass(frozen=True, slots=True)
class DownloadStatus:
    """A download. ``time_remaining`` is in seconds, and None while it is not known; ``speed`` in bytes a second."""

    id: str
    product: str
    transaction: str
    state: DownloadState
    reason: str
    bytes_verified: int
    bytes_received: int
    progress: float
    speed: float
    time_remaining: float | None = None
    version: str | None = None
    bytes_total: int | None = None
    error: Problem | None = None
    content_path: str | None = None
    priority: int | None = None
    created: datetime | None = None
    not_before: datetime | None = None
    cause: str | None = None
    space: SpaceShortage | None = None
    bytes_needed: int | None = None
    bytes_reused: int | None = None
    title: str | None = None
    stalled_since: datetime | None = None
    urgency: DownloadUrgency | None = None
    wanted_by: int | None = None
    section: str | None = None
    session: str | None = None
    condition: DownloadCondition | None = None
    ignored: tuple[IgnoredCondition, ...] | None = None


@dataclass(frozen=True, slots=True)
class LibraryItem:
    """A placed version; ``path`` is its file or folder."""

    product: str
    version: str
    path: str
    digest: str
    length: int
    placed_at: datetime
    title: str | None = None
    product_title: str | None = None
    cover: str | None = None
    state: LibraryState | None = None
    length_on_disk: int | None = None
    last_opened: datetime | None = None
    pinned: bool | None = None
    rolled_back: bool | None = None
    owned: bool | None = None
    because: str | None = None
    until: datetime | None = None
    owned_as_of: datetime | None = None
    left: bool | None = None
    withdrawn: bool | None = None


@dataclass(frozen=True, slots=True)
class LicenseSummary:
    """The license that an agent holds; it answers before ``expires``, by the server's clock."""

    serial: str
    issued: datetime
    expires: datetime


@dataclass(frozen=True, slots=True)
class ProductOwnership:
    """What a device can say of a product without asking a service; ``is_verified`` where the license says so."""

    product: str
    owned: bool
    verification: OwnershipVerification
    because: str | None = None
    until: datetime | None = None
    heard: datetime | None = None
    as_of: datetime | None = None
    reason: UnverifiedReason | None = None
    license: LicenseSummary | None = None
    content: OwnedContent | None = None

    @property
    def is_verified(self) -> bool:
        """Whether the license of the device says so, and is good now."""
        return self.verification is OwnershipVerification.VERIFIED


@dataclass(frozen=True, slots=True)
class Ownership:
    """All products that the delivery server has told of."""

    products: tuple[ProductOwnership, ...]
    license: LicenseSummary | None = None


@dataclass(frozen=True, slots=True)
class ContentSection:
    """A part of placed content that is fetched and given up by itself; ``title`` is by language."""

    tag: str
    policy: SectionPolicy
    files: int
    length: int
    is_here: bool = field(metadata={"wire": "here"})
    title: dict[str, str] | None = None
    download: str | None = None


@dataclass(frozen=True, slots=True)
class ContentSections:
    """The sections of the version that is read, by tag."""

    product: str
    version: str
    sections: tuple[ContentSection, ...]


@dataclass(frozen=True, slots=True)
class ReadingDevice:
    """Where something was read, by a name that no other device has and by one for people."""

    id: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingLocations:
    """A place within a resource and the whole; ``position`` counts from one, progressions are parts from 0 to 1."""

    fragments: tuple[str, ...] | None = None
    progression: float | None = None
    position: int | None = None
    total_progression: float | None = None


@dataclass(frozen=True, slots=True)
class ReadingText:
    """The text at a place and around it."""

    before: str | None = None
    highlight: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingLocator:
    """A place as Readium's applications name it."""

    href: str
    type: str
    title: str | None = None
    locations: ReadingLocations | None = None
    text: ReadingText | None = None


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """How far something was read: ``page`` counts from zero, ``progression`` is a part from 0 to 1."""

    modified: datetime
    device: ReadingDevice
    page: int | None = None
    locator: ReadingLocator | None = None
    position: str | None = None
    progression: float | None = None
    # The version that was read, and the name of the page's file in it.
    version: str | None = None
    page_name: str | None = None


@dataclass(frozen=True, slots=True)
class ReadingStatus:
    """The version that is read now, its pages, and the latest word; None where it was not read."""

    version: str
    pages: int | None = None
    progress: ReadingProgress | None = None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A run of bytes of a file that were compared with the publisher's manifest."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class ContentFile:
    """One file of content; ``verified`` is what of it can be read at once."""

    path: str
    length: int
    digest: str
    verified: tuple[FilePart, ...]
    page: int | None = None


@dataclass(frozen=True, slots=True)
class ContentFiles:
    """The files of content that is at its place or on its way."""

    product: str
    version: str
    placed: bool
    length: int
    files: tuple[ContentFile, ...]

    def page(self, number: int) -> ContentFile | None:
        """The page of that number, counted from 1 in the order of reading."""
        return next((file for file in self.files if file.page == number), None)


@dataclass(frozen=True, slots=True)
class LibraryEvent:
    """Something came into the library or left it."""

    change: LibraryChange
    item: LibraryItem


@dataclass(frozen=True, slots=True)
class LibraryFault:
    """A file that is not as the manifest says; ``path`` is below the item's."""

    path: str
    kind: FaultKind


@dataclass(frozen=True, slots=True)
class LibraryVerification:
    """The files of a version, compared with its manifest."""

    product: str
    version: str
    state: LibraryState
    bytes_read: int
    faults: tuple[LibraryFault, ...]


@dataclass(frozen=True, slots=True)
class Price:
    """A decimal number as text, and an ISO 4217 currency."""

    amount: str
    currency: str


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """A price as it is shown: ``formatted`` by the rules of ``locale``."""

    amount: str
    currency: str
    formatted: str
    locale: str | None = None


@dataclass(frozen=True, slots=True)
class ProductListing:
    """A product with the texts of one locale and the price of one territory; without ``price`` it is free."""

    id: str
    type: str
    title: str
    description: str
    price: ListedPrice | None = None
    content_version: str | None = None
    content_length: int | None = None
    publication: str | None = None
    publication_date: datetime | None = None
    period: str | None = None
    cover: str | None = None
    cover_url: str | None = field(default=None, metadata={"wire": "coverURL"})
    terms: str | None = None
    privacy_url: str | None = field(default=None, metadata={"wire": "privacyURL"})
    available_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PublicationListing:
    """A publication with the texts of one locale and the prices of one territory."""

    id: str
    title: str
    description: str
    subscriptions: tuple[ProductListing, ...]
    cover_url: str | None = field(default=None, metadata={"wire": "coverURL"})
    latest_issue: ProductListing | None = None


@dataclass(frozen=True, slots=True)
class StoreAccount:
    """The store account of the device."""

    territory: str
    environment: str
    can_make_payments: bool
    currency: str | None = None
    application: str | None = None


@dataclass(frozen=True, slots=True)
class AccountOffer:
    """An offer for the first payments of a subscription; ``eligible`` is None where the store does not say."""

    kind: str
    payment: str
    period: str
    payments: int
    price: Price | None = None
    eligible: bool | None = None


@dataclass(frozen=True, slots=True)
class AccountBonus:
    """By how much the first period lasts longer for who gives contact data."""

    period: str
    eligible: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentProduct:
    """A product that is for sale, and what the account has of it."""

    listing: ProductListing
    owned: bool
    subscribed_until: datetime | None = None
    offers: tuple[AccountOffer, ...] | None = None
    bonus: AccountBonus | None = None

    @property
    def offer(self) -> AccountOffer | None:
        """The offer under which a purchase is made now."""
        return next((offer for offer in self.offers or () if offer.eligible), None)

    @property
    def is_held(self) -> bool:
        """Whether a purchase would pay for nothing that the account does not have."""
        return self.owned or (self.subscribed_until is not None and self.listing.type != "non-renewing-subscription")

    @property
    def shown_price(self) -> str:
        """The price, and the offer behind it, as ``AgentClient.buy`` takes it."""
        price = self.listing.price
        text = f"{price.amount} {price.currency}" if price else "free"
        if self.offer:
            text += f"; {self.offer.payment} {self.offer.period}"
            if self.offer.price:
                text += f" {self.offer.payments} {self.offer.price.amount} {self.offer.price.currency}"
        return text


@dataclass(frozen=True, slots=True)
class AgentProductsResponse:
    """The named products that are for sale, and the names that are not."""

    account: StoreAccount
    products: tuple[AgentProduct, ...]
    invalid_product_identifiers: tuple[str, ...]
    nearest: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class AgentPublicationsResponse:
    """A page of publications; ``next`` is the ``after`` of the next one."""

    account: StoreAccount
    publications: tuple[PublicationListing, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class AgentPublicationResponse:
    """A page of what is for sale of one publication, or of none."""

    account: StoreAccount
    subscriptions: tuple[AgentProduct, ...]
    issues: tuple[AgentProduct, ...]
    publication: PublicationListing | None = None
    next: str | None = None


@dataclass(frozen=True, slots=True)
class CodeTerms:
    """The first payments of a subscription under a code."""

    payment: str
    period: str
    payments: int
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class CodePreview:
    """What a code gives the account."""

    product: str
    kind: str
    terms: CodeTerms | None = None
    start: datetime | None = None


@dataclass(frozen=True, slots=True)
class AgentCodePreview:
    """What a code gives the account, as far as the store and the server say."""

    account: StoreAccount
    preview: CodePreview | None = None
    listing: ProductListing | None = None


@dataclass(frozen=True, slots=True)
class PendingPrice:
    """A price that the renewals of a subscription are to have."""

    price: Price
    needs_consent: bool
    accepted: bool


@dataclass(frozen=True, slots=True)
class StoreSubscription:
    """A subscription of the account."""

    original_id: str
    product: str
    state: SubscriptionState
    auto_renew: bool
    purchase_date: datetime
    expires_date: datetime
    renewal_product: str | None = None
    grace_period_expires_date: datetime | None = None
    resume_date: datetime | None = None
    expiration_intent: int | None = None
    new_price: PendingPrice | None = None
    revocation_date: datetime | None = None


@dataclass(frozen=True, slots=True)
class EntitledProduct:
    """A product that the customer owns, and why."""

    product: str
    version: str
    length: int
    because: str
    transaction: str
    state: str
    publication_date: datetime | None = None
    until: datetime | None = None
    store: str | None = None
    consumable: bool | None = None


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """What has become of one product, as the server tells it."""

    kind: str
    product: str
    transaction: str
    publication: str | None = None
    publication_date: datetime | None = None
    version: str | None = None
    length: int | None = None
    not_before: datetime | None = None
    until: datetime | None = None
    keep: bool | None = None


@dataclass(frozen=True, slots=True)
class NewsEntry(FeedEntry):
    """An entry of the feed that the agent does not fetch by itself, with its title and a small picture."""

    title: str | None = None
    cover: str | None = None


@dataclass(frozen=True, slots=True)
class NewReaderKey:
    """A key for an application that reads the catalog; the password is told once."""

    name: str
    password: str
    address: str


@dataclass(frozen=True, slots=True)
class ReaderKey:
    """A key without its password."""

    name: str
    title: str
    created: datetime
    used: datetime | None = None


def version_key(version: str) -> tuple[int, ...]:
    """The order of versions: ``1.10`` comes after ``1.9``, and ``1`` is ``1.0``."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def current(items: Iterable[LibraryItem], product: str) -> LibraryItem | None:
    """The product's version that is read: the newest that the server has not taken back, else the newest of all."""
    found = [item for item in items if item.product == product]
    return max(found, key=lambda item: (not item.rolled_back, version_key(item.version)), default=None)
