package dev.interlock.redlock;

import dev.interlock.redis.server.Script;

/**
 * The scripts of a node, in addition to those of a single Redis. The files describe keys, arguments
 * and replies; {@code voting.lua} describes the node's record.
 */
final class NodeScripts {

  /** Votes for the claim if the lock is free. */
  static final Script ACQUIRE = load(3, "acquire");

  /** Raises the fence to the token that the claim was given. */
  static final Script CONFIRM = load(3, "confirm");

  /** Withdraws a vote without publishing a message. */
  static final Script WITHDRAW = load(2, "withdraw");

  /** Extends the TTL, or restores the lock on a node that lacks it. */
  static final Script RENEW = load(3, "renew");

  /** Votes for a share of a name if there is room. */
  static final Script SHARE_ACQUIRE = load(3, "share_acquire");

  /** Raises the fence to the token of a share. */
  static final Script SHARE_CONFIRM = load(3, "share_confirm");

  /** Withdraws a vote for a share without publishing a message. */
  static final Script SHARE_WITHDRAW = load(2, "share_withdraw");

  /** Extends a share. */
  static final Script SHARE_RENEW = load(3, "share_renew");

  /** Reads the holders of the lock. */
  static final Script INSPECT = load(3, "inspect");

  /** Finds some keys of one node. */
  static final Script FIND_KEYS = load(1, "find_keys");

  /** Reads the state of the node. */
  static final Script EXAMINE = load(1, "examine");

  /** Begins the quarantine of a process. */
  static final Script QUARANTINE = load(1, "quarantine");

  /** Stores the number of nodes in a record that lacks it. */
  static final Script COUNT = load(1, "count");

  /** Reads the listings of all clients, and records that of this client. */
  static final Script EXCHANGE_LISTINGS = load(1, "exchange_listings");

  /** Lets a process vote. */
  static final Script ADMIT = load(1, "admit");

  private NodeScripts() {}

  // The class that opens the file must be in the same module.
  private static Script load(int keyCount, String name) {
    return Script.load(keyCount, name, NodeScripts.class::getResourceAsStream);
  }
}
