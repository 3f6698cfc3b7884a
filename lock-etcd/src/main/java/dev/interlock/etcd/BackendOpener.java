package dev.interlock.etcd;

import dev.interlock.BackendInfo;
import dev.interlock.LockException;
import dev.interlock.LockUnavailableException;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Share;
import io.etcd.jetcd.kv.TxnResponse;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens backends: connects to the cluster, and refuses a configuration that cannot work, with the
 * reason.
 */
final class BackendOpener {

  private static final Logger log = LoggerFactory.getLogger(BackendOpener.class);

  private static final int MAX_TRIES = 2;
  // Applies while the driver is being loaded, which happens once in a process, or many clients log
  // in.
  private static final int MAX_TRIES_WHILE_SLOW = 10;

  private final EtcdSettings settings;
  private final BackendContext context;
  private final Failures failures;
  private final Duration requestTimeout;

  BackendOpener(Failures failures, EtcdSettings settings, BackendContext context) {
    this.settings = settings;
    this.context = context;
    this.failures = failures;
    this.requestTimeout = context.options().requestTimeout();
  }

  /**
   * Opens a backend. Closes the clients if that fails.
   *
   * @param diagnosis finds the reason of a failure; null if only the clients know the endpoints
   * @param login the login for which the clients' requests wait; null if there is none or it is not
   *     known
   * @param presumed the number of members to assume if the cluster does not list them
   */
  EtcdBackend open(
      Clients clients, @Nullable Diagnosis diagnosis, @Nullable Login login, int presumed) {
    try {
      return openOrClose(clients, diagnosis, login, presumed);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failures.temporary("interrupted while connecting", e);
    }
  }

  private EtcdBackend openOrClose(
      Clients clients, @Nullable Diagnosis diagnosis, @Nullable Login login, int presumed)
      throws InterruptedException {
    boolean opened = false;
    try {
      Requests requests = new Requests(clients, failures, context.time());
      if (diagnosis == null) {
        read(requests, requestTimeout);
      } else {
        readOrDiagnose(requests, diagnosis, login);
      }
      BackendInfo info = EtcdTopology.info(members(requests, presumed));
      failures.recordAdmission();
      EtcdBackend backend = new EtcdBackend(info, settings, clients, failures, context);
      opened = true;
      return backend;
    } finally {
      if (!opened) {
        clients.close();
      }
    }
  }

  /**
   * Reads the format in a transaction. That requires a quorum and the permission to read, and loads
   * the classes that later transactions need.
   */
  private void read(Requests requests, Duration limit) throws InterruptedException {
    LockKeys keys = LockKeys.of(settings.namespace(), "");
    StoredFormat format = new StoredFormat(settings.namespace());
    TxnResponse answer =
        requests.askAgain(
            in(limit),
            client ->
                client
                    .txn()
                    .If(QueueOps.isAbsent(keys.prefix()))
                    .Then(format.read(), QueueOps.readWithPut(keys, Share.EXCLUSIVE))
                    .commit());
    format.requireKnown(answer, 0, failures);
  }

  /**
   * Waits half of the time-out for the answer, and the other half for the diagnosis if there is
   * none.
   */
  private void readOrDiagnose(Requests requests, Diagnosis diagnosis, @Nullable Login login)
      throws InterruptedException {
    Duration half = requestTimeout.dividedBy(2);
    Duration limit = half;
    for (int tries = 1; ; tries++) {
      boolean isLoading = !RequestRules.hasSentCall();
      long loginsBefore = login == null ? 0 : login.successes();
      try {
        read(requests, limit);
        return;
      } catch (LockUnavailableException e) {
        if (!Failures.isOfConnection(e)) {
          throw e;
        }
        LockException reason = diagnosis.find(failures, requests, in(half));
        if (reason != null) {
          reason.addSuppressed(e);
          throw reason;
        }
        boolean isLogin = login != null && login.mayHaveDelayed(loginsBefore);
        if (tries >= (isLoading || isLogin ? MAX_TRIES_WHILE_SLOW : MAX_TRIES)) {
          throw isLogin ? failures.temporary("the login was not answered in time", e) : e;
        }
        limit = requestTimeout;
      }
    }
  }

  private long members(Requests requests, int presumed) throws InterruptedException {
    try {
      return requests
          .askAgain(in(requestTimeout), client -> client.listMember())
          .getMembers()
          .stream()
          .filter(member -> !member.isLearner())
          .count();
    } catch (LockException e) {
      if (Failures.isOfConnection(e)) {
        throw e;
      }
      log.debug("the cluster does not list its members; assuming {}", presumed, e);
      return presumed;
    }
  }

  private Deadline in(Duration duration) {
    return Deadline.in(context.time(), duration);
  }
}
