package dev.interlock.tck;

import java.util.List;

/** Reads the store directly, without the lock client, to find residue. */
public interface StoreView {

  /**
   * {@return the entries of locks on the store at this moment: one for each key, node, server-side
   * lease, watch and subscription}
   *
   * @throws Exception if the store cannot be read
   */
  List<Entry> entries() throws Exception;

  /** The purpose of an entry. */
  enum Kind {
    /** A held lock, or an entry of its holder. */
    HOLDER,
    /** An entry of a waiter: a queue entry, a watch, a subscription. */
    WAITER,
    /** The source of fencing tokens. */
    FENCE
  }

  /**
   * One entry on the store.
   *
   * @param kind its purpose
   * @param description a text for messages; contains the lock's name if the entry belongs to one
   * @param expires whether it expires
   */
  record Entry(Kind kind, String description, boolean expires) {}
}
