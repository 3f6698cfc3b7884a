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

/** Locks on Redis with one mistake each, that a storm has to find. */
final class BrokenBuilds {
  private static final String NAMESPACE = "interlock";

  private BrokenBuilds() {}

  /** Opens clients with a mistake, here and in other processes. */
  abstract static class Build implements Harness {
    abstract LockBackend broken(String uri, LockBackend right);

    LockOptions options(LockOptions options) {
      return options;
    }

    @Override
    public Server start() {
      throw new UnsupportedOperationException("the storm starts the servers");
    }

    @Override
    public LockClient open(String uri, LockOptions options) {
      return LockClient.using(context -> broken(uri, right(uri, context)), options(options));
    }

    private static LockBackend right(String uri, BackendContext context) {
      return new RedisProvider().open(LockUri.parse(uri), context);
    }
  }

  /** Validity is counted from when the reply came, and not from when the request was sent. */
  static final class CountedFromReply extends Build {
    /** No answer is waited for longer than that. */
    private static final Duration MOST = Duration.ofSeconds(2);

    @Override
    LockBackend broken(String uri, LockBackend right) {
      return new ForwardingBackend(right) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          Attempt attempt = super.tryAcquire(claim, deadline);
          return attempt instanceof Attempt.Granted granted
              ? new Attempt.Granted(believed(granted.grant()))
              : attempt;
        }

        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          return counted(grant, super.renew(grant, deadline));
        }

        @Override
        public List<Renewal> renewAll(List<Grant> grants, Deadline deadline)
            throws InterruptedException {
          List<Renewal> right = super.renewAll(grants, deadline);
          List<Renewal> counted = new ArrayList<>();
          for (int i = 0; i < grants.size(); i++) {
            counted.add(counted(grants.get(i), right.get(i)));
          }
          return counted;
        }

        /** The engine corrects a backend that counts wrongly, unless it promises more, too. */
        private Grant believed(Grant grant) {
          return new Grant(
              grant.claim(),
              grant.token(),
              fromNow(grant.claim()),
              grant.effectiveTtl().plus(MOST),
              grant.validityPerConfirmation().plus(MOST),
              grant.expiresOnStore());
        }

        private Renewal counted(Grant grant, Renewal renewal) {
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

  /** A renewal extends the lock, whichever client holds it. */
  static final class RenewsAnybodys extends Build {
    @Override
    LockBackend broken(String uri, LockBackend right) {
      return new ForwardingBackend(right) {
        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          byte[] key = LockKeys.of(NAMESPACE, grant.claim().name()).lock();
          try (Jedis jedis = new Jedis(URI.create(uri), 2_000)) {
            return jedis.pexpire(key, grant.claim().ttl().toMillis()) == 1
                ? new Renewal.Confirmed()
                : new Renewal.Gone(LossReason.TAKEN, "there is no such key");
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

  /** A waiter looks again when it is reported of a release, and at no other time. */
  static final class WatchTrusted extends Build {
    private static final Duration NEVER = Duration.ofDays(1);

    @Override
    LockOptions options(LockOptions options) {
      return options.toBuilder().pollInterval(NEVER).build();
    }

    @Override
    LockBackend broken(String uri, LockBackend right) {
      return new ForwardingBackend(right) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          Attempt attempt = super.tryAcquire(claim, deadline);
          return attempt instanceof Attempt.Busy ? new Attempt.Busy(NEVER) : attempt;
        }
      };
    }
  }
}
