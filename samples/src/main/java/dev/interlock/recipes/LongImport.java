package dev.interlock.recipes;

import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;

/** A long job that stops when its lease is lost, and that the next holder continues. */
final class LongImport {
  private final LockClient client;
  private final Progress progress;

  LongImport(LockClient client, Progress progress) {
    this.client = client;
    this.progress = progress;
  }

  /** The progress of the job, kept in the store that it writes to. */
  interface Progress {
    /** Refuses lower tokens from now on, and returns the number of the next part. */
    int claim(long token);

    /** Stores a part together with the progress; refused after a later claim. */
    void store(int part, long token) throws InterruptedException;

    boolean has(int part);
  }

  /** Returns whether the import is complete. If not, the next holder continues it. */
  boolean run() throws Exception {
    try (Lease lease = client.lock("import").acquire()) {
      return lease.callWhileHeld( // interrupts the work on loss
          () -> {
            long token = lease.fencingToken();
            for (int part = progress.claim(token); progress.has(part); part++) {
              lease.ensureHeld(); // starts nothing new after a loss
              progress.store(part, token);
            }
            return true;
          });
    } catch (LeaseLostException e) {
      return false; // what was stored is kept
    }
  }
}
