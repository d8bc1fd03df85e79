"""The MLS group of a call (DAVE 1), as the voice gateway manages it: its members, and the commits that count.

https://daveprotocol.com. Its members are all connected clients: the bot's, and people's. It knows no socket.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Any, Protocol

from tests.fakes.discord.voice_mls import ADD, Commit, ExternalSender, KeyPackage, Malformed, Proposal, vector

VERSION = 1
PREPARE_TRANSITION, EXECUTE_TRANSITION, TRANSITION_READY, PREPARE_EPOCH = 21, 22, 23, 24
EXTERNAL_SENDER, KEY_PACKAGE, PROPOSALS, COMMIT_WELCOME = 25, 26, 27, 28
ANNOUNCE_COMMIT, WELCOME, INVALID_COMMIT_WELCOME = 29, 30, 31
APPEND, REVOKE = 0, 1
READY_SECONDS = 2.0
"""How long the transition of some waits for that of the others."""


class Member(Protocol):
    user_id: int

    def hear(self, op: int, data: Any) -> None: ...

    def hear_binary(self, op: int, payload: bytes) -> None: ...


class Group:
    """The group of a call. `refused` is called with the reason if a member's message did not count."""

    def __init__(self, call: int, refused: Callable[[str], None]) -> None:
        self.call = call
        self.members: dict[int, Member] = {}
        self.epoch = 0
        # The users at their places in the tree; None at a place that a user has left.
        self.leaves: list[int | None] = []
        self.proposals: list[Proposal] = []
        # While this is set, nobody is proposed, so that no group is created.
        self.stalled = False
        # Only the commits of this member count, if it can commit; by default the first commit counts.
        self.committer: int | None = None
        # The next welcome of these members is damaged on its way.
        self.damaged: set[int] = set()
        self._id = call.to_bytes(8)
        self._sender = ExternalSender()
        self._refused = refused
        self._pending: dict[int, KeyPackage] = {}
        self._keys: dict[int, bytes] = {}
        # Members that no longer know the group and must join again.
        self._lost: set[int] = set()
        self._transition = 0
        self._awaited: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def established(self) -> bool:
        return self.epoch > 0

    def has(self, user: int) -> bool:
        """Whether that member is in the group, and all were told to use its keys."""
        return user in self.leaves and user not in self._lost and not self._awaited

    def connect(self, member: Member) -> None:
        """Add a member to the call: it receives the voice gateway's key and the waiting members."""
        self.members[member.user_id] = member
        if member.user_id in self.leaves:
            self._lost.add(member.user_id)
        others = [str(user) for user in self.members if user != member.user_id]
        if others:
            member.hear(11, {"user_ids": others})
        for other in self._others(member.user_id):
            other.hear(11, {"user_ids": [str(member.user_id)]})

    def invite(self, member: Member) -> None:
        """Mark the member as able to join the group."""
        member.hear_binary(EXTERNAL_SENDER, self._sender.package)
        if not self.established and self.proposals:
            self._tell(member, self.proposals)

    def disconnect(self, user: int) -> None:
        if self.members.pop(user, None) is None:
            return
        self._pending.pop(user, None)
        self._lost.discard(user)
        for member in self.members.values():
            member.hear(13, {"user_id": str(user)})
        self._awaited.discard(user)
        if self.established and len(self.members) == 1:
            self._start_again()
        elif not self.members:
            self._reset()
        else:
            self._propose()
            self._when_ready()

    def receive(self, member: Member, op: int, payload: bytes) -> None:
        """Handle a member's message. Raises Malformed."""
        if self.members.get(member.user_id) is not member:
            return
        if op == KEY_PACKAGE:
            self._take_package(member.user_id, KeyPackage.read(payload))
        elif op == COMMIT_WELCOME:
            self._commit(member.user_id, Commit.read(payload))
        else:
            raise Malformed(f"{op} is nothing that a member sends in binary")

    def ready(self, user: int, transition: int) -> None:
        """Record that the member can execute the transition."""
        if transition == self._transition:
            self._awaited.discard(user)
            self._when_ready()

    def invalid(self, user: int) -> None:
        """Remove a member that could not use its commit or welcome, and let it join again."""
        if user in self.leaves:
            self._lost.add(user)
        self._awaited.discard(user)
        self._propose()

    def release(self) -> None:
        """End the stall."""
        self.stalled = False
        self._propose()

    def _others(self, user: int) -> list[Member]:
        return [member for id, member in self.members.items() if id != user]

    def _take_package(self, user: int, package: KeyPackage) -> None:
        if package.user != user:
            raise Malformed(f"the key package is of {package.user}")
        self._pending[user] = package
        if user in self.leaves:
            self._lost.add(user)
        self._propose()

    def _propose(self) -> None:
        """Propose missing changes, and withdraw obsolete ones."""
        if self.stalled:
            return
        void = [
            proposal
            for proposal in self.proposals
            if proposal.kind == ADD and proposal.user not in self._pending
        ]
        if void:
            self.proposals = [proposal for proposal in self.proposals if proposal not in void]
            refs = vector(b"".join(vector(proposal.ref) for proposal in void))
            for member in self._committing():
                member.hear_binary(PROPOSALS, bytes([REVOKE]) + refs)
        proposed = {(proposal.kind, proposal.user) for proposal in self.proposals}
        fresh = [
            self._sender.remove(self._id, self.epoch, place, user)
            for place, user in enumerate(self.leaves)
            if user is not None and (user not in self.members or user in self._lost)
        ]
        fresh += [
            self._sender.add(self._id, self.epoch, package)
            for user, package in self._pending.items()
            if user not in self.leaves or user in self._lost
        ]
        fresh = [proposal for proposal in fresh if (proposal.kind, proposal.user) not in proposed]
        self.proposals += fresh
        for member in self._committing():
            self._tell(member, [proposal for proposal in fresh if proposal.user != member.user_id])

    def _committing(self) -> list[Member]:
        """The members that can produce a commit: the group's members, or everybody if there is no group yet."""
        if not self.established:
            return list(self.members.values())
        return [name for id, name in self.members.items() if id in self.leaves and id not in self._lost]

    def _tell(self, member: Member, proposals: list[Proposal]) -> None:
        if proposals:
            messages = b"".join(proposal.message for proposal in proposals)
            member.hear_binary(PROPOSALS, bytes([APPEND]) + vector(messages))

    def _commit(self, user: int, commit: Commit) -> None:
        if commit.group != self._id or commit.epoch != self.epoch:
            return  # another member's commit came first
        candidates = {member.user_id for member in self._committing()}
        if self.committer in candidates and self.committer != user:
            return
        wrong = self._wrong(user, commit)
        if wrong:
            self._refused(f"a commit of {user} does not count: {wrong}")
            return
        by_ref = {proposal.ref: proposal for proposal in self.proposals}
        counted = [by_ref[ref] for ref in commit.refs]
        leaves: list[int | None] = self.leaves if self.established else [user]
        for proposal in counted:
            if proposal.kind != ADD:
                leaves[leaves.index(proposal.user)] = None
                self._lost.discard(proposal.user)
        added = [left_proposal.user for left_proposal in counted if left_proposal.kind == ADD]
        for new in added:
            free = leaves.index(None) if None in leaves else len(leaves)
            leaves[free : free + 1] = [new]
        self.leaves, self.epoch, self.proposals = leaves, self.epoch + 1, []
        self._announce(user, added, commit)

    def _wrong(self, user: int, commit: Commit) -> str:
        by_ref = {
            proposal.ref: proposal for proposal in self.proposals if self.established or proposal.user != user
        }
        if not commit.refs or set(commit.refs) != set(by_ref) or len(commit.refs) != len(by_ref):
            return f"{len(commit.refs)} proposals are in it, and {len(by_ref)} are to be"
        place = self.leaves.index(user) if user in self.leaves else 0
        if commit.leaf != place:
            return f"its sender is leaf {commit.leaf}, not {place}"
        key = self._keys.get(user) or (self._pending[user].key if user in self._pending else None)
        if commit.key not in (None, key):
            return "it changes the key of its sender"
        welcomed = {self._pending[proposal.user].ref for proposal in by_ref.values() if proposal.kind == ADD}
        return "" if set(commit.welcomes) == welcomed else "it does not welcome exactly those whom it adds"

    def _announce(self, user: int, added: list[int], commit: Commit) -> None:
        self._transition = self._transition % 0xFFFF + 1
        number = struct.pack(">H", self._transition)
        inside = [(id, member) for id, member in self.members.items() if id in self.leaves]
        self._awaited = {id for id, _ in inside}
        packages = {id: self._pending.pop(id) for id in {user, *added} & set(self._pending)}
        self._keys |= {id: package.key for id, package in packages.items()}
        for id, member in inside:
            if id in added:
                welcome = commit.welcomes[packages[id].ref]
                if id in self.damaged:
                    self.damaged.remove(id)
                    welcome = welcome[:-1] + bytes([welcome[-1] ^ 1])
                member.hear_binary(WELCOME, number + welcome)
            else:
                member.hear_binary(ANNOUNCE_COMMIT, number + commit.message)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(READY_SECONDS, self._execute)
        self._propose()

    def _when_ready(self) -> None:
        if not self._awaited and self._timer is not None:
            self._execute()

    def _execute(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._awaited = None, set()
        for member in self.members.values():
            member.hear(EXECUTE_TRANSITION, {"transition_id": self._transition})

    def _start_again(self) -> None:
        """Tell the only remaining member to forget the group; the next member starts a new one."""
        self._reset()
        for member in self.members.values():
            member.hear(PREPARE_EPOCH, {"protocol_version": VERSION, "epoch": 1, "transition_id": 0})
            member.hear(PREPARE_TRANSITION, {"protocol_version": VERSION, "transition_id": 0})

    def _reset(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._awaited = None, set()
        self.epoch, self.leaves, self.proposals = 0, [], []
        self._pending, self._keys, self._lost = {}, {}, set()
