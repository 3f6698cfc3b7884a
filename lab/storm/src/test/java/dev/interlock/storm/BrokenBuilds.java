package dev.interlock.storm;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.LossReason;
import dev.interlock.redis.RedisProvider;
import dev.interlock.redis.server.LockKeys;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.LockUri;
import dev.interlock.spi.Renewal;
import dev.interlock.tck.Harness;
import dev.interlock.tck.Server;
import dev.interlock.tck.specimen.ForwardingBackend;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisException;

/** Locks on Redis with one mistake each, which a storm must find. */
final class BrokenBuilds {
  private static final String NAMESPACE = "interlock";

  private BrokenBuilds() {}

  /** Opens clients with a mistake, in this process and in others. */
  abstract static class Build implements Harness {
    abstract LockBackend breakBackend(String uri, LockBackend correct);

    LockOptions options(LockOptions options) {
      return options;
    }

    @Override
    public Server start() {
      throw new UnsupportedOperationException("the storm starts the servers");
    }

    @Override
    public LockClient open(String uri, LockOptions options) {
      return LockClient.using(
          context -> breakBackend(uri, correct(uri, context)), options(options));
    }

    private static LockBackend correct(String uri, BackendContext context) {
      return new RedisProvider().open(LockUri.parse(uri), context);
    }
  }

  /**
   * Validity is counted from the arrival of the reply instead of from the sending of the request.
   */
  static final class CountedFromReply extends Build {
    private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);

    @Override
    LockBackend breakBackend(String uri, LockBackend correct) {
      return new ForwardingBackend(correct) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          Attempt attempt = super.tryAcquire(claim, deadline);
          return attempt instanceof Attempt.Granted granted
              ? new Attempt.Granted(overstated(granted.grant()))
              : attempt;
        }

        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          return countFromReply(grant, super.renew(grant, deadline));
        }

        @Override
        public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
            throws InterruptedException {
          List<Renewal> correct = super.renewAll(grants, deadline);
          List<Renewal> countFromReply = new ArrayList<>();
          for (int i = 0; i < grants.size(); i++) {
            countFromReply.add(countFromReply(grants.get(i), correct.get(i)));
          }
          return countFromReply;
        }

        /** The engine would correct a wrong count, so the backend also promises too much. */
        private Grant overstated(Grant grant) {
          return new Grant(
              grant.claim(),
              grant.token(),
              fromNow(grant.claim()),
              grant.effectiveTtl().plus(REQUEST_TIMEOUT),
              grant.validityPerConfirmation().plus(REQUEST_TIMEOUT),
              grant.expiresOnStore());
        }

        private Renewal countFromReply(Grant grant, Renewal renewal) {
          return renewal instanceof Renewal.Confirmed
              ? new Renewal.Renewed(fromNow(grant.claim()))
              : renewal;
        }

        private long fromNow(Claim claim) {
          return System.nanoTime() + claim.ttl().toNanos();
        }
      };
    }
  }

  /** A renewal extends the lock of any client. */
  static final class RenewsAnyOwner extends Build {
    @Override
    LockBackend breakBackend(String uri, LockBackend correct) {
      return new ForwardingBackend(correct) {
        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          byte[] key = LockKeys.of(NAMESPACE, grant.claim().name()).lock();
          try (Jedis jedis = new Jedis(URI.create(uri), 2_000)) {
            return jedis.pexpire(key, grant.claim().ttl().toMillis()) == 1
                ? new Renewal.Confirmed()
                : new Renewal.Lost(LossReason.TAKEN, "there is no such key");
          } catch (JedisException e) {
            return super.renew(grant, deadline);
          }
        }

        @Override
        public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
            throws InterruptedException {
          List<Renewal> renewals = new ArrayList<>();
          for (Grant grant : grants) {
            renewals.add(renew(grant, deadline));
          }
          return renewals;
        }
      };
    }
  }

  /** A waiter asks again only after a notification, and never polls. */
  static final class WatchTrusted extends Build {
    private static final Duration NEVER = Duration.ofDays(1);

    @Override
    LockOptions options(LockOptions options) {
      return options.toBuilder().pollInterval(NEVER).build();
    }

    @Override
    LockBackend breakBackend(String uri, LockBackend correct) {
      return new ForwardingBackend(correct) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          Attempt attempt = super.tryAcquire(claim, deadline);
          return attempt instanceof Attempt.Busy ? new Attempt.Busy(NEVER) : attempt;
        }
      };
    }
  }
}
