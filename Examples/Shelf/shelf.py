#!/usr/bin/env python3
"""A shelf in GTK 4: what is for sale with its price, what comes with a bar, what is here with a button that opens it.

    PYTHONPATH=Python Examples/Shelf/shelf.py [--socket PATH] [--with PROGRAM]

It stands on python3-gi and the module `pullbox` (docs/python.md). The agent does the work: what was bought comes also when this program has
ended. The module's tasks run in a thread of their own; every widget is touched by GTK's thread alone.

In a sandbox of Flatpak's it watches by the socket, buys and changes by the agent's name on the bus, where polkit may ask for a password, and
reads what the document portal shows it (docs/desktop.md#in-a-sandbox).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import threading
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import gi

gi.require_version("Gtk", "4.0")
from gi.repository import Gio, GLib, Gtk  # noqa: E402

import pullbox  # noqa: E402


@dataclass(frozen=True)
class Row:
    """A line of the window. ``verb`` is what its button does; the empty text for a button that can do nothing now."""

    product: str
    title: str
    text: str
    verb: str = ""
    fraction: float | None = None


@dataclass
class State:
    """What is known of the shop and of this device. It has no widgets."""

    shop: dict[str, pullbox.AgentProduct] = field(default_factory=dict)
    library: list[pullbox.LibraryItem] = field(default_factory=list)
    downloads: dict[str, pullbox.DownloadStatus] = field(default_factory=dict)
    buying: set[str] = field(default_factory=set)
    owned: dict[str, str] = field(default_factory=dict)
    message: str = ""

    def apply(self, update: pullbox.AgentUpdate) -> bool:
        """Takes an update of the agent; true where the library is to be listed anew."""
        if isinstance(update, pullbox.Lost):
            self.message = "The agent is away; it is waited for."
            return False
        if isinstance(update, pullbox.Snapshot):
            self.downloads, self.message = {}, ""
        # A section is a part of content that is here: it is neither the content nor a correction of it.
        for download in (download for download in update.downloads if download.section is None):
            if download.state in (pullbox.DownloadState.FINISHED, pullbox.DownloadState.CANCELLED):
                self.downloads.pop(download.product, None)
            else:
                self.downloads[download.product] = download
        return isinstance(update, pullbox.Snapshot) or update.name == "library"

    def title(self, product: str) -> str:
        """Its title in the shop, else in the library, else its name."""
        if product in self.shop:
            return self.shop[product].listing.title
        item = pullbox.current(self.library, product)
        return (item and (item.product_title or item.title)) or product

    def rows(self) -> list[Row]:
        """The lines: what comes, what is here, what is owned and not here, what is for sale."""
        rows = []
        coming = self.downloads
        for product, download in sorted(coming.items()):
            text = f"{download.progress:.0%}" if download.state == pullbox.DownloadState.ACTIVE else f"{download.state}: {download.reason}"
            if download.time_remaining is not None:
                text += f", {download.time_remaining:.0f} s left"
            verb = "Resume" if download.state in (pullbox.DownloadState.PAUSED, pullbox.DownloadState.FAILED) else "Pause"
            rows.append(Row(product, self.title(product), text, verb, download.progress))
        here = sorted({item.product for item in self.library} - coming.keys())
        for product in here:
            item = pullbox.current(self.library, product)
            if item is not None:
                is_whole = item.state in (None, pullbox.LibraryState.PRESENT)
                text = f"version {item.version}" if is_whole else f"{item.state}"
                rows.append(Row(product, self.title(product), text, "Open" if is_whole else "Repair"))
        for product in sorted(self.owned.keys() - coming.keys() - set(here)):
            rows.append(Row(product, self.title(product), "owned, and not here", "Fetch"))
        for product, sold in self.shop.items():
            if product not in coming and product not in here and product not in self.owned:
                if sold.owned or sold.subscribed_until is not None:
                    rows.append(Row(product, sold.listing.title, "subscribed" if sold.subscribed_until else "owned"))
                elif product in self.buying:
                    rows.append(Row(product, sold.listing.title, "buying…"))
                else:
                    rows.append(Row(product, sold.listing.title, price(sold), "Buy"))
        return rows


def price(product: pullbox.AgentProduct) -> str:
    """The price as people read it."""
    return product.listing.price.formatted if product.listing.price else "free"


class Bus:
    """The agent and the program of the desktop by their names, for a program in a sandbox. It blocks: a person may be asked meanwhile."""

    AGENT, ROOT = "com.pullbox.Agent1", "/com/pullbox/Agent1"
    # A person may take ten minutes to give a password.
    PATIENCE = 600_000

    def call(self, bus: Gio.BusType, name: str, path: str, interface: str, member: str, arguments: GLib.Variant) -> tuple[Any, ...]:
        """Calls a method, whose user may be asked for a password."""
        answer = Gio.bus_get_sync(bus).call_sync(
            name, path, interface, member, arguments, None, Gio.DBusCallFlags.ALLOW_INTERACTIVE_AUTHORIZATION, self.PATIENCE, None)
        return tuple(answer.unpack())

    def agent(self, member: str, arguments: GLib.Variant) -> tuple[Any, ...]:
        """Calls the agent of the user, or that of the device where the user has none."""
        try:
            return self.call(Gio.BusType.SESSION, self.AGENT, self.ROOT, self.AGENT, member, arguments)
        except GLib.Error as error:
            if not error.matches(Gio.dbus_error_quark(), Gio.DBusError.SERVICE_UNKNOWN):
                raise
        return self.call(Gio.BusType.SYSTEM, self.AGENT, self.ROOT, self.AGENT, member, arguments)

    def buy(self, product: str, shown: str) -> None:
        """Buys at the price that was shown."""
        self.agent("Buy", GLib.Variant("(sa{sv})", (product, {"shown": GLib.Variant("s", shown)})))

    def restore(self, product: str) -> None:
        """Fetches what is owned."""
        self.agent("Restore", GLib.Variant("(asa{sv})", ([product], {})))

    def open(self, product: str) -> str:
        """Notes that it is opened, and answers where this program finds its content."""
        path: str
        (path,) = self.call(
            Gio.BusType.SESSION, "com.pullbox.Desktop", "/com/pullbox/Desktop", "com.pullbox.Desktop1", "Open", GLib.Variant("(s)", (product,)))
        return path


class Shelf(Gtk.Application):
    """The window, and the thread that speaks with the agent."""

    def __init__(self, agent: pullbox.AgentClient, program: str) -> None:
        super().__init__(application_id="com.pullbox.Shelf")
        self.agent, self.program, self.state = agent, program, State()
        self.bus = Bus() if os.path.exists("/.flatpak-info") else None
        self.loop = asyncio.new_event_loop()
        self.lines: dict[str, tuple[Gtk.Box, Gtk.Label, Gtk.Label, Gtk.ProgressBar, Gtk.Button]] = {}
        self.connect("activate", self.show)

    def show(self, _: Gtk.Application) -> None:
        """Builds the window, and begins to follow the agent."""
        self.window = Gtk.ApplicationWindow(application=self, title="Shelf", default_width=640, default_height=480)
        self.message = Gtk.Label(xalign=0, wrap=True)
        self.list = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=6)
        restore = Gtk.Button(label="What else do I own?")
        restore.connect("clicked", lambda _: self.begin(self.plan()))
        page = Gtk.Box(orientation=Gtk.Orientation.VERTICAL, spacing=12, margin_top=12, margin_bottom=12, margin_start=12, margin_end=12)
        for widget in (self.message, Gtk.ScrolledWindow(child=self.list, vexpand=True), restore):
            page.append(widget)
        self.window.set_child(page)
        self.window.present()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.begin(self.follow())
        self.begin(self.load())

    def draw(self) -> None:
        """Changes the widgets to what the state says; a line keeps its widgets as long as it is there."""
        self.message.set_text(self.state.message)
        rows = {row.product: row for row in self.state.rows()}
        for product in self.lines.keys() - rows.keys():
            self.list.remove(self.lines.pop(product)[0])
        for product, row in rows.items():
            if product not in self.lines:
                self.lines[product] = self.line(product)
            _, title, text, bar, button = self.lines[product]
            title.set_text(row.title)
            text.set_text(row.text)
            bar.set_visible(row.fraction is not None)
            bar.set_fraction(row.fraction or 0)
            button.set_visible(bool(row.verb))
            if button.get_label() != f"{row.verb} {row.title}":
                button.set_label(f"{row.verb} {row.title}")

    def line(self, product: str) -> tuple[Gtk.Box, Gtk.Label, Gtk.Label, Gtk.ProgressBar, Gtk.Button]:
        """The widgets of a line."""
        box = Gtk.Box(spacing=12)
        title, text = Gtk.Label(xalign=0, hexpand=True), Gtk.Label(xalign=1)
        bar, button = Gtk.ProgressBar(valign=Gtk.Align.CENTER), Gtk.Button(label="…")
        button.connect("clicked", lambda button: self.press(button.get_label().split(" ")[0], product))
        for widget in (title, text, bar, button):
            box.append(widget)
        self.list.append(box)
        return box, title, text, bar, button

    def press(self, verb: str, product: str) -> None:
        """Does what a line's button says."""
        download = self.state.downloads.get(product)
        if verb == "Buy":
            self.ask(product)
        elif verb == "Open":
            self.begin(self.open(product))
        elif verb == "Fetch":
            self.begin(self.fetch(product))
        elif verb == "Repair":
            self.begin(self.agent.repair(product))
        elif download is not None:
            self.begin(self.agent.pause(download.id) if verb == "Pause" else self.agent.resume(download.id))

    def ask(self, product: str) -> None:
        """Shows the price, and buys where that is accepted."""
        sold = self.state.shop[product]
        dialog = Gtk.MessageDialog(
            transient_for=self.window, modal=True, text=f"Buy {sold.listing.title}?", secondary_text=f"It costs {price(sold)}.")
        dialog.add_buttons("No", Gtk.ResponseType.CANCEL, f"Buy for {price(sold)}", Gtk.ResponseType.ACCEPT)

        def answered(dialog: Gtk.MessageDialog, response: int) -> None:
            dialog.destroy()
            if response == Gtk.ResponseType.ACCEPT:
                self.begin(self.buy(sold))

        dialog.connect("response", answered)
        dialog.present()

    # ---- in the other thread

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs it there; a refusal becomes the window's message."""
        asyncio.run_coroutine_threadsafe(self.guard(work), self.loop)

    async def guard(self, work: Coroutine[Any, Any, Any]) -> None:
        """Tells what went wrong in words."""
        try:
            await work
        except (pullbox.AgentError, GLib.Error) as error:
            self.change(message=f"{error}")

    def change(self, **members: object) -> None:
        """Changes the state in GTK's thread, and draws it."""
        def apply() -> bool:
            for name, value in members.items():
                setattr(self.state, name, value)
            self.draw()
            return GLib.SOURCE_REMOVE
        GLib.idle_add(apply)

    async def load(self) -> None:
        """What is for sale: publications with their issues and subscriptions, and what belongs to none."""
        pages = [await self.agent.singles()]
        for publication in (await self.agent.publications()).publications:
            pages.append(await self.agent.publication(publication.id))
        self.change(shop={sold.listing.id: sold for page in pages for sold in (*page.subscriptions, *page.issues)})

    async def follow(self) -> None:
        """Keeps up with the agent, through its restarts."""
        async for update in self.agent.follow():
            changed: asyncio.Future[bool] = self.loop.create_future()

            def apply(update: pullbox.AgentUpdate = update, changed: asyncio.Future[bool] = changed) -> bool:
                self.loop.call_soon_threadsafe(changed.set_result, self.state.apply(update))
                self.draw()
                return GLib.SOURCE_REMOVE

            GLib.idle_add(apply)
            if await changed:
                self.change(library=await self.agent.library())

    async def buy(self, sold: pullbox.AgentProduct) -> None:
        """Buys at the price that was shown; what follows is told by the agent's events."""
        self.change(buying=self.state.buying | {sold.listing.id}, message="")
        try:
            if self.bus is not None:
                await asyncio.to_thread(self.bus.buy, sold.listing.id, sold.shown_price)
            else:
                await self.agent.buy(sold.listing.id, shown=sold.shown_price)
        finally:
            self.change(buying=self.state.buying - {sold.listing.id})

    async def plan(self) -> None:
        """What is owned; what of it is not here gets a button."""
        owned = {found.product: found.version for found in await self.agent.restore_plan()}
        self.change(owned=owned, message=f"You own {len(owned)}.")

    async def fetch(self, product: str) -> None:
        """Fetches what is owned and not here."""
        if self.bus is not None:
            await asyncio.to_thread(self.bus.restore, product)
        else:
            await self.agent.restore([product])

    async def open(self, product: str) -> None:
        """Has a program open it, and tells the agent."""
        item = pullbox.current(self.state.library, product)
        if item is None:
            return
        if self.bus is not None:
            path = await asyncio.to_thread(self.bus.open, product)
        else:
            await self.agent.note_opened(product)
            path = item.path
        subprocess.Popen([self.program, path])  # noqa: S603
        self.change(message=f"{self.state.title(product)} is open.")


def main() -> None:
    """Runs the window."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--socket", help="the agent's socket; its usual places unless given")
    parser.add_argument("--with", dest="program", default="xdg-open", help="the program that opens an issue")
    arguments = parser.parse_args()
    Shelf(pullbox.AgentClient(arguments.socket), arguments.program).run(None)


if __name__ == "__main__":
    main()
