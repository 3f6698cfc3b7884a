package dev.interlock.tck;

import java.util.List;

/** A look into the store past the lock client, to find residue. */
public interface StoreView {

  /**
   * Returns what locks have put on the store and is there at this moment.
   *
   * @return one entry for each key, node, server-side lease, watch and subscription
   * @throws Exception if the store cannot be asked
   */
  List<Entry> entries() throws Exception;

  /** What an entry is there for. */
  enum Kind {
    /** A held lock, or what belongs to its holder. */
    HOLDER,
    /** What belongs to somebody who waits: a place in line, a watch, a subscription. */
    WAITER,
    /** What fencing tokens are made from. */
    FENCE
  }

  /**
   * One thing on the store.
   *
   * @param kind what it is there for
   * @param description what it is, for people; contains the lock's name where it belongs to one
   * @param expires whether the store removes it by itself some time
   */
  record Entry(Kind kind, String description, boolean expires) {}
}
