package dev.interlock.redlock;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Claim;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/** What a claim is on the nodes. */
final class Entry {

  final LockKeys keys;
  final byte[] value;

  /**
   * The process of each node on which the claim may have left something, when it was put there;
   * null of the other nodes, and empty if it is not known.
   */
  private final AtomicReferenceArray<@Nullable String> runs;

  /** The nodes that had refused the lock, or had lost it when it was renewed last. */
  private final AtomicIntegerArray missing;

  /** Whether a majority confirmed what was asked last, the election or a renewal. */
  private volatile boolean confirmed;

  /** Given up: what has not been sent by now must not be. */
  private volatile boolean withdrawn;

  private Entry(LockKeys keys, byte[] value, int nodes) {
    this.keys = keys;
    this.value = value;
    this.runs = new AtomicReferenceArray<>(nodes);
    this.missing = new AtomicIntegerArray(nodes);
  }

  /** The entry of a claim that has been nowhere yet. */
  static Entry fresh(Claim claim, String namespace, int nodes) {
    Entry entry =
        new Entry(
            LockKeys.of(namespace, claim.name()),
            (claim.id() + '|' + claim.holder()).getBytes(UTF_8),
            nodes);
    claim.attach(entry);
    return entry;
  }

  /** The entry of a claim that may have been everywhere. */
  static Entry of(Claim claim, String namespace, int nodes) {
    if (claim.attachment() instanceof Entry entry) {
      return entry;
    }
    Entry entry = fresh(claim, namespace, nodes);
    for (int node = 0; node < nodes; node++) {
      entry.runs.set(node, "");
    }
    return entry;
  }

  /**
   * Whether the claim may be put on the node now. First it counts as being there, then it is looked
   * whether it is still wanted: so either this sees the withdrawal, or that sees the touch.
   */
  boolean touch(int node, String run) {
    runs.set(node, run);
    return !withdrawn;
  }

  /** From now on nothing more is put anywhere. */
  void withdraw() {
    withdrawn = true;
  }

  boolean mayBeOn(int node) {
    return runs.get(node) != null;
  }

  /**
   * Whether a node has become another process, which may have forgotten the claim, since it was put
   * there. Says so once: nothing will be there after that.
   */
  boolean mayBeForgottenBy(int node, String run) {
    String before = runs.getAndSet(node, run);
    return before != null && !before.isEmpty() && !before.equals(run);
  }

  void missingOn(int node, boolean is) {
    missing.set(node, is ? 1 : 0);
  }

  void confirmed(boolean byMajority) {
    confirmed = byMajority;
  }

  /**
   * Whether the lock may be put on a node that does not have it: only while a majority has it, so
   * that a lease that is lost never comes back.
   */
  boolean isToBeRestoredOn(int node) {
    return confirmed && missing.get(node) == 1;
  }
}
