package dev.interlock.recipes;

import dev.interlock.LockClient;
import dev.interlock.MultiLease;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Money that moves between two accounts. */
final class Accounts {
  private final LockClient client;
  private final Ledger ledger;

  Accounts(LockClient client, Ledger ledger) {
    this.client = client;
    this.ledger = ledger;
  }

  /** The store behind the locks. */
  @FunctionalInterface
  interface Ledger {
    /**
     * Claims both tokens, and refuses if a later one has been claimed; then moves the amount if
     * there is enough. All in one transaction.
     */
    boolean move(String from, long fromToken, String to, long toToken, long amount);
  }

  /** Acquires both locks or none; two transfers in opposite directions do not deadlock. */
  boolean transfer(String from, String to, long amount) throws InterruptedException {
    String debit = "account/" + from;
    String credit = "account/" + to;
    Optional<MultiLease> acquired =
        client.multiLock(List.of(debit, credit)).tryAcquire(Duration.ofSeconds(10));
    if (acquired.isEmpty()) {
      return false;
    }
    try (MultiLease lease = acquired.get()) {
      return ledger.move(from, lease.fencingToken(debit), to, lease.fencingToken(credit), amount);
    }
  }
}
