"""The data classes against the samples that the Swift types are held to."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
import unittest
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pullbox
from pullbox import client, coding

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "lib"))

import wire_samples  # noqa: E402

TYPES: dict[str, dict[str, type]] = {
    "WireSample+Agent.swift": {
        "AgentCodePreview": pullbox.AgentCodePreview, "AgentProduct": pullbox.AgentProduct,
        "AgentProductsResponse": pullbox.AgentProductsResponse, "AgentPublicationResponse": pullbox.AgentPublicationResponse,
        "AgentPublicationsResponse": pullbox.AgentPublicationsResponse, "AgentRestoreResponse": client._Restored,
        "AgentStatus": pullbox.AgentStatus, "AgentStatus.Peer": pullbox.Peer, "ConditionsResponse": pullbox.Conditions,
        "MachineConditionStatus": pullbox.MachineCondition, "ConditionSourceStatus": pullbox.ConditionSource,
        "DownloadCondition": pullbox.DownloadCondition, "IgnoredCondition": pullbox.IgnoredCondition,
        "NetworkLimits": pullbox.NetworkLimits,
        "NetworkLimits.Window": pullbox.NetworkWindow, "NetworkLimits.Budget": pullbox.NetworkBudget, "AgentTransaction": pullbox.AgentTransaction,
        "AgentTransactionsResponse": client._Transactions, "DownloadStatus": pullbox.DownloadStatus,
        "ContentSection": pullbox.ContentSection, "ContentSections": pullbox.ContentSections,
        "DownloadsClearResponse": client._Cleared, "DownloadsResponse": client._Downloads, "LibraryEvent": pullbox.LibraryEvent,
        "ContentFile": pullbox.ContentFile, "ContentFile.Part": pullbox.FilePart, "ContentFiles": pullbox.ContentFiles,
        "LibraryItem": pullbox.LibraryItem, "LibraryRepairResponse": client._Repair, "LibraryResponse": client._Items,
        "LibraryVerification": pullbox.LibraryVerification, "LibraryVerification.Fault": pullbox.LibraryFault,
        "LibraryVerificationResponse": client._Verifications, "NewsEntry": pullbox.NewsEntry, "NewsResponse": client._News,
        "ReadingProgress": pullbox.ReadingProgress, "ReadingProgress.Device": pullbox.ReadingDevice,
        "ReadingProgress.Locator": pullbox.ReadingLocator, "ReadingProgress.Locator.Locations": pullbox.ReadingLocations,
        "ReadingProgress.Locator.Text": pullbox.ReadingText, "ReadingResponse": pullbox.ReadingStatus,
        "SpaceShortage": pullbox.SpaceShortage, "LicenseSummary": pullbox.LicenseSummary,
        "ProductOwnership": pullbox.ProductOwnership, "OwnershipResponse": pullbox.Ownership,
    },
    "WireSample+Catalog.swift": {
        "ProductListing": pullbox.ProductListing, "ProductListing.ListedPrice": pullbox.ListedPrice,
        "PublicationListing": pullbox.PublicationListing,
    },
    "WireSample+Delivery.swift": {
        "EntitledProduct": pullbox.EntitledProduct, "FeedEntry": pullbox.FeedEntry, "NewReaderKey": pullbox.NewReaderKey,
        "ReaderKeyList": client._Readers, "ReaderKeyList.Item": pullbox.ReaderKey,
    },
    "WireSample+Store.swift": {
        "AccountOffer": pullbox.AccountOffer, "CodePreview": pullbox.CodePreview, "CodeTerms": pullbox.CodeTerms,
        "StoreAccount": pullbox.StoreAccount, "StoreSubscription": pullbox.StoreSubscription,
        "SubscriptionsResponse": client._Subscriptions,
    },
}
# Documents that a client writes, and texts.
WRITTEN = {
    "AgentDownloadChange", "AgentPurchaseRequest", "AgentReaderRequest", "AgentRedeemRequest", "AgentRestoreRequest",
    "DownloadIdentifier", "LibraryVersionRequest", "ReadingReport", "SessionName", "ShownPrice"}


def members(kind: type) -> list[str]:
    return sorted(name for _, name, _, _ in coding._members(kind))


class SampleTests(unittest.TestCase):
    samples = wire_samples.Samples(ROOT / "Tests" / "PullboxAPITests" / "Samples")

    def test_every_document_of_the_agent_is_read(self) -> None:
        names = {name for name, _, _ in self.samples.of_file("WireSample+Agent.swift")}
        self.assertEqual(names, set(TYPES["WireSample+Agent.swift"]) | WRITTEN)

    def test_each_sample_is_read_with_every_member(self) -> None:
        for file, types in TYPES.items():
            found = list(self.samples.of_file(file, types))
            self.assertEqual({name for name, _, _ in found}, set(types))
            for name, full, minimal in found:
                with self.subTest(name):
                    kind = types[name]
                    # A news entry has the members of an entry of the feed too, which its sample has not.
                    self.assertLessEqual(set(full), set(members(kind)))
                    if name != "NewsEntry":
                        self.assertEqual(members(kind), sorted(full))
                    value: Any = coding.decode(kind, full)
                    for field in dataclasses.fields(value):
                        if name != "NewsEntry":
                            self.assertIsNotNone(getattr(value, field.name), field.name)
                    coding.decode(kind, minimal)

    def test_members_that_are_always_there_are_asked_for(self) -> None:
        for file, types in TYPES.items():
            for name, _, minimal in self.samples.of_file(file, types):
                for member in minimal:
                    if minimal[member] is None:
                        continue
                    rest = {key: value for key, value in minimal.items() if key != member}
                    with self.subTest(f"{name}.{member}"), self.assertRaises(coding.MalformedDocument):
                        coding.decode(types[name], rest)


class _Mood(StrEnum):
    GOOD = "good"


@dataclass(frozen=True)
class _Person:
    mood: _Mood


@dataclass(frozen=True)
class _Moods:
    moods: tuple[_Mood, ...]
    first: _Person | None = None


class CodingTests(unittest.TestCase):
    ITEM = {
        "product": "a", "version": "1.10", "path": "/library/a/1.10", "digest": "0" * 64, "length": 9007199254740993,
        "placedAt": "2026-11-21T08:30:00.120Z"}

    def test_members_of_tomorrow_are_ignored(self) -> None:
        item = coding.decode(pullbox.LibraryItem, {**self.ITEM, "smell": {"of": ["ink"]}})
        self.assertEqual(item.length, 9007199254740993)
        self.assertEqual(item.placed_at, datetime(2026, 11, 21, 8, 30, 0, 120000, tzinfo=UTC))

    def test_words_of_tomorrow_are_passed_over(self) -> None:
        self.assertEqual(coding.decode(pullbox.LibraryItem, {**self.ITEM, "state": "lost"}).state, pullbox.LibraryState.OFFLINE)
        download = {
            "bytesReceived": 0, "bytesVerified": 0, "id": "5b0c", "product": "a", "progress": 0, "reason": "dreaming", "speed": 0,
            "state": "asleep", "timeRemaining": None, "transaction": "2000000000000001", "urgency": "someday"}
        status = coding.decode(pullbox.DownloadStatus, download)
        self.assertEqual((status.state, status.reason, status.urgency), (pullbox.DownloadState.WAITING, "dreaming", None))
        change = coding.decode(pullbox.LibraryEvent, {"change": "rebound", "item": self.ITEM})
        self.assertEqual(change.change, pullbox.LibraryChange.CHANGED)
        # Where no word can stand in its place, the element is left out; what is all of the document cannot be.
        self.assertEqual(coding.decode(_Moods, {"moods": ["good", "wistful"], "first": {"mood": "wistful"}}), _Moods((_Mood.GOOD,), None))
        self.assertIsNone(coding.read_known(_Person, b'{"mood": "wistful"}'))
        with self.assertRaises(pullbox.UnexpectedResponse):
            coding.read(_Person, b'{"mood": "wistful"}')

    def test_a_word_that_is_none_of_its_list_is_refused_outside_of_documents(self) -> None:
        for kind in (
                pullbox.DownloadState, pullbox.SectionPolicy, pullbox.LibraryState, pullbox.OwnershipVerification, pullbox.LibraryChange,
                pullbox.FaultKind, pullbox.SubscriptionState):
            with self.subTest(kind.__name__):
                self.assertIs(coding.decode(kind, "typo"), kind.fallback())
                self.assertIs(kind(kind.fallback().value), kind.fallback())
                with self.assertRaises(ValueError):
                    kind("typo")
        self.assertFalse(pullbox.DownloadState.fallback().is_final)

    def test_a_value_of_another_kind_is_named(self) -> None:
        for member, value in (
                ("length", "1"), ("length", 1.5), ("length", True), ("path", 7), ("placedAt", "yesterday"),
                ("placedAt", "2026-11-21T08:30:00"), ("state", 7), ("pinned", 1), ("product", None)):
            with self.subTest(f"{member}: {value}"), self.assertRaises(coding.MalformedDocument) as caught:
                coding.decode(pullbox.LibraryItem, {**self.ITEM, member: value})
            self.assertTrue(str(caught.exception).startswith(f"{member}: "), caught.exception)
        with self.assertRaises(coding.MalformedDocument) as nested:
            coding.decode(client._Items, {"items": [self.ITEM, {**self.ITEM, "length": None}]})
        self.assertTrue(str(nested.exception).startswith("items[1].length: "), nested.exception)

    def test_text_that_is_no_json_is_an_unexpected_response(self) -> None:
        for body in (b"", b"{", b"\xff", b"[" * 100_000, b'{"removed": NaN}', b'{"removed": ' + b"9" * 5000 + b"}", b"[]", b"null"):
            with self.subTest(body[:20]), self.assertRaises(pullbox.UnexpectedResponse):
                coding.read(client._Cleared, body)

    def test_the_version_that_is_read_is_the_newest_that_was_not_taken_back(self) -> None:
        def item(version: str, **members: object) -> pullbox.LibraryItem:
            return coding.decode(pullbox.LibraryItem, {**self.ITEM, "version": version, **members})

        items = [item("1.9"), item("1.10", rolledBack=True), item("1.2"), item("7", product="b")]
        self.assertIs(pullbox.current(items, "a"), items[0])
        self.assertIs(pullbox.current(items[1:2], "a"), items[1])
        self.assertIsNone(pullbox.current(items, "c"))
        self.assertEqual(pullbox.version_key("1"), pullbox.version_key("1.0.0"))

    def test_the_price_that_was_shown_names_the_offer(self) -> None:
        listing = {"id": "m", "type": "auto-renewable-subscription", "title": "M", "description": ""}
        price = {"amount": "4.99", "currency": "USD", "formatted": "$4.99"}
        trial = {"kind": "introductory", "payment": "free-trial", "period": "P1W", "payments": 1, "eligible": True}
        paid = {**trial, "payment": "pay-as-you-go", "period": "P1M", "payments": 3, "price": {"amount": "0.99", "currency": "USD"}}
        for expected, product in (
                ("free", {"listing": listing}), ("4.99 USD", {"listing": {**listing, "price": price}}),
                ("4.99 USD", {"listing": {**listing, "price": price}, "offers": [{**trial, "eligible": False}]}),
                ("4.99 USD; free-trial P1W", {"listing": {**listing, "price": price}, "offers": [trial]}),
                ("4.99 USD; pay-as-you-go P1M 3 0.99 USD", {"listing": {**listing, "price": price}, "offers": [paid]})):
            self.assertEqual(coding.decode(pullbox.AgentProduct, {"owned": False, **product}).shown_price, expected)

    def test_a_request_has_the_names_of_the_wire_and_no_nulls(self) -> None:
        self.assertEqual(
            json.loads(coding.write({"product": "a", "application_username": "reader-7", "opt_in": None})),
            {"product": "a", "applicationUsername": "reader-7"})


if __name__ == "__main__":
    unittest.main()
