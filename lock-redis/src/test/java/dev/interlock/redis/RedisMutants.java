package dev.interlock.redis;

import dev.interlock.BackendInfo;
import dev.interlock.Capability;
import dev.interlock.DistributedLock;
import dev.interlock.Lease;
import dev.interlock.LeaseLostException;
import dev.interlock.LockClient;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.LossReason;
import dev.interlock.ReleaseOutcome;
import dev.interlock.spi.Attempt;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.BackendInfoBuilder;
import dev.interlock.spi.Claim;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.Deadline;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.QueueingBackend;
import dev.interlock.spi.Renewal;
import dev.interlock.spi.TimeSource;
import dev.interlock.spi.WakeUp;
import dev.interlock.tck.specimen.ForwardingBackend;
import dev.interlock.tck.specimen.ForwardingClient;
import dev.interlock.tck.specimen.ForwardingLease;
import dev.interlock.tck.specimen.ForwardingLock;
import dev.interlock.tck.specimen.Specimen;
import dev.interlock.tck.specimen.StoppableClock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.exceptions.JedisException;

/** The right lock on Redis with one fault that needs a network, other processes or a server. */
final class RedisMutants {

  private RedisMutants() {}

  private static Specimen.Builder mutant(String name, String... rules) {
    return Specimen.mutant(name)
        .onlyRules("these concern the fault; the mutants in memory run all", rules);
  }

  static List<Specimen> all() {
    return List.of(
        mutant("validity counted from the reply", "EXCL-04", "LEASE-01", "LEASE-02", "LEASE-03")
            .fault("The clock stands still while the client waits for an answer.")
            .harness(CountedFromReply::new)
            .refusedBy("EXCL-04", "took longer than its TTL")
            .refusedBy("LEASE-03", "it was counted from the answer")
            .build(),
        mutant("owner per client", "EXCL-03", "EXCL-08")
            .fault("All attempts of a client have the same identity on the store.")
            .harness(OwnerPerClient::new)
            .refusedBy("EXCL-08", "the successor's lock was freed")
            .build(),
        mutant("messages trusted", "WAIT-03", "WAIT-04", "WAIT-05", "WAIT-06")
            .fault("A waiter polls only when it is notified of a release.")
            .harness(MessagesTrusted::new)
            .refusedBy("WAIT-04", "did not get all of the killed process's")
            .refusedBy("WAIT-06", "did not get the lock")
            .build(),
        mutant("herd", "WAIT-10")
            .fault("It declares SINGLE_WAKEUP, and a release wakes all waiters.")
            .harness(Herd::new)
            .refusedBy("WAIT-10", "all of them are woken")
            .build(),
        mutant("first failure is the end", "LEASE-*")
            .fault("A renewal that fails once loses the lease.")
            .harness(FirstFailureIsTheEnd::new)
            .refusedBy("LEASE-07", "a short outage cost the lease")
            .build(),
        mutant("held until reported lost", "LOSS-*")
            .fault("A lease is held until the store says that it is gone.")
            .harness(HeldUntilReportedLost::new)
            .refusedBy("LOSS-01", "the end of a lease without renewal was not reported")
            .refusedBy("LOSS-02", "the loss was not reported by the end of validity")
            .refusedBy("LOSS-05", "a process that was stopped past its TTL")
            .build(),
        mutant("release believed", "REL-01", "REL-02")
            .fault("A release without an answer counts as done.")
            .harness(ReleaseBelieved::new)
            .refusedBy("REL-01", "the store was out of reach")
            .refusedBy("REL-02", "the store was out of reach")
            .build(),
        mutant("failure as contention", "API-02", "WAIT-02", "FAULT-02")
            .fault("A store that does not answer looks like a lock that is held.")
            .harness(FailureAsContention::new)
            .refusedBy("API-02", "not a failure")
            .refusedBy("WAIT-02", "an attempt that never reached the store must fail")
            .refusedBy("FAULT-02", "an attempt without a living store")
            .build(),
        mutant("token constant on Redis", "FENCE-04")
            .fault("Every grant has the same token.")
            .harness(TokenConstant::new)
            .refusedBy("FENCE-04", "the late write was not refused by its token")
            .build(),
        mutant("server without a disk", "FAULT-03")
            .fault(
                "It promises that locks survive a restart of a Redis that writes nothing to disk.")
            .harness(WithoutDisk::new)
            .refusedBy("FAULT-03", "LeaseLostException")
            .build(),
        mutant("release sent twice", "REL-*", "FAULT-04", "LOSS-03")
            .fault(
                "A release without an answer is sent again, and counts as a loss if the second"
                    + " request finds no lock.")
            .harness(ReleaseSentTwice::new)
            .refusedBy("FAULT-04", "<ALREADY_LOST>")
            .refusedBy("LOSS-03", "<ALREADY_LOST>")
            .build(),
        mutant("reply left unread", "EXCL-*", "FAULT-05")
            .fault(
                "Two commands are sent together. When the first is refused, the second one's reply"
                    + " is left to the next user of the connection.")
            .harness(ReplyLeftUnread::new)
            .refusedBy("FAULT-05", "replaced by")
            .build(),
        mutant("refusal taken for a loss", "FAULT-05", "FAULT-06")
            .fault("A renewal that the server refuses to execute loses the lease.")
            .harness(RefusalTakenForALoss::new)
            .refusedBy("FAULT-05", "was reported as lost")
            .refusedBy("FAULT-06", "was refused, with validity left")
            .build(),
        mutant("first to ask", "FAIR-01")
            .fault("Nobody keeps the order: whoever asks first after a release has the lock.")
            .harness(FirstToAsk::new)
            .refusedBy("FAIR-01", "kept one that is farther away waiting")
            .build(),
        mutant("first password kept", "FAULT-07")
            .fault("The password file is read when a client is opened, and never again.")
            .harness(FirstPasswordKept::new)
            .refusedBy("FAULT-07", "after a change of the password")
            .build());
  }

  static final class FirstToAsk extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        public BackendInfo info() {
          BackendInfo textbook = super.info();
          return BackendInfoBuilder.from(textbook).capabilities(Capability.STARVATION_FREE).build();
        }

        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) {
          Attempt attempt = super.tryAcquire(claim, deadline);
          // It asks again as late as the client permits.
          return attempt instanceof Attempt.Busy ? new Attempt.Busy(claim.ttl()) : attempt;
        }
      };
    }
  }

  static final class FirstPasswordKept extends RedisSpecimen {
    private static final Pattern FILE = Pattern.compile("@(.*)[?]passwordFile=(.*)");

    @Override
    LockBackend backend(String uri, BackendContext context) {
      Matcher file = FILE.matcher(uri);
      return right(
          file.find() ? file.replaceFirst(":" + read(file.group(2)) + "@$1") : uri, context);
    }

    private static String read(String file) {
      try {
        return Files.readString(Path.of(file)).strip();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  static final class RefusalTakenForALoss extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          try {
            Renewal renewal = super.renew(grant, deadline);
            return renewal instanceof Renewal.Failed ? gone() : renewal;
          } catch (LockException e) {
            return gone();
          }
        }

        private Renewal gone() {
          return new Renewal.Lost(LossReason.TAKEN, "the server does not want it");
        }
      };
    }
  }

  static final class ReplyLeftUnread extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean take(String key, Claim claim) {
          try (Connection connection = redis.getPool().getResource()) {
            String millis = "" + millis(claim.ttl());
            connection.sendCommand(Command.SET, key + ":tried", claim.id(), "PX", millis);
            connection.sendCommand(Command.SET, key, claim.id(), "NX", "PX", millis);
            connection.getOne();
            return "OK".equals(connection.getBulkReply());
          }
        }
      };
    }
  }

  static final class ReleaseSentTwice extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
          try {
            return super.release(claim, deadline);
          } catch (LockUnavailableException e) {
            return super.release(claim, deadline);
          }
        }
      };
    }
  }

  static final class CountedFromReply extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return right(uri, context);
    }

    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      StoppableClock clock = new StoppableClock(time);
      return ClientsWithTimeSource.using(
          context ->
              new ForwardingBackend(right(uri, context)) {
                @Override
                public Attempt tryAcquire(Claim claim, Deadline deadline)
                    throws InterruptedException {
                  long sentAt = time.nanoTime();
                  Attempt attempt = super.tryAcquire(claim, deadline);
                  clock.setBackTo(sentAt);
                  return attempt;
                }

                @Override
                public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
                  long sentAt = time.nanoTime();
                  Renewal renewal = super.renew(grant, deadline);
                  clock.setBackTo(sentAt);
                  return renewal;
                }
              },
          options,
          clock);
    }
  }

  static final class OwnerPerClient extends RedisSpecimen {
    private static final String OWNER_ID = "ownerOwnerOwnerOwner";

    @Override
    LockBackend backend(String uri, BackendContext context) {
      String id =
          OWNER_ID.substring(0, 19) + String.format("%08x", System.nanoTime() & 0xffffffffL);
      return new ForwardingBackend(right(uri, context)) {
        private Claim ofClient(Claim claim) {
          return new Claim(
              claim.name(), id, claim.ttl(), claim.autoRenew(), "client", System.nanoTime());
        }

        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          Attempt attempt = super.tryAcquire(ofClient(claim), deadline);
          return attempt instanceof Attempt.Granted granted
              ? new Attempt.Granted(with(claim, granted.grant()))
              : attempt;
        }

        private Grant with(Claim claim, Grant grant) {
          return new Grant(
              claim,
              grant.token(),
              grant.validUntil(),
              grant.effectiveTtl(),
              grant.validityPerConfirmation(),
              grant.expiresOnStore());
        }

        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          return super.renew(with(ofClient(grant.claim()), grant), deadline);
        }

        @Override
        public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
          return super.release(ofClient(claim), deadline);
        }
      };
    }
  }

  static final class MessagesTrusted extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new Trusting(uri, context);
    }

    private static final class Trusting extends TextbookLock implements QueueingBackend {
      Trusting(String uri, BackendContext context) {
        super(uri, context);
      }

      @Override
      boolean delete(String key, Claim claim) {
        boolean deleted = super.delete(key, claim);
        if (deleted) {
          redis.publish(key, "released");
        }
        return deleted;
      }

      @Override
      public Place join(Claim claim, Deadline deadline) {
        WakeUp released = new WakeUp(time);
        JedisPubSub subscription =
            new JedisPubSub() {
              @Override
              public void onSubscribe(String channel, int count) {
                released.signal();
              }

              @Override
              public void onMessage(String channel, String message) {
                released.signal();
              }
            };
        return new Place() {
          private final AtomicBoolean left = new AtomicBoolean();

          @Override
          public Attempt await(Deadline until) throws InterruptedException {
            Attempt attempt = tryAcquire(claim, until);
            if (attempt instanceof Attempt.Busy) {
              Thread listener = new Thread(this::listen, "listener");
              listener.setDaemon(true);
              listener.start();
            }
            while (attempt instanceof Attempt.Busy && !until.hasPassed() && !left.get()) {
              released.await(until);
              attempt = tryAcquire(claim, until);
            }
            return attempt;
          }

          private void listen() {
            try {
              redis.subscribe(subscription, key(claim.name()));
            } catch (JedisException e) {
              // It has fallen silent, without a message.
            }
          }

          @Override
          public void close() {
            left.set(true);
            released.signal();
            if (subscription.isSubscribed()) {
              subscription.unsubscribe();
            }
          }
        };
      }
    }
  }

  static final class Herd extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public BackendInfo info() {
          BackendInfo info = super.info();
          Set<Capability> capabilities = EnumSet.copyOf(info.capabilities());
          capabilities.add(Capability.SINGLE_WAKEUP);
          return BackendInfoBuilder.from(info).capabilities(capabilities).build();
        }
      };
    }
  }

  static final class FirstFailureIsTheEnd extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public Renewal renew(Grant grant, Deadline deadline) throws InterruptedException {
          Renewal renewal = super.renew(grant, deadline);
          return renewal instanceof Renewal.Failed failed
              ? new Renewal.Lost(LossReason.SESSION_ENDED, String.valueOf(failed.problem()))
              : renewal;
        }
      };
    }
  }

  static final class HeldUntilReportedLost extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return right(uri, context);
    }

    @Override
    public LockClient open(String uri, LockOptions options, TimeSource time) {
      return new ForwardingClient(super.open(uri, options, time)) {
        @Override
        protected DistributedLock altered(DistributedLock lock) {
          return new ForwardingLock(lock) {
            @Override
            protected Lease altered(Lease lease) {
              return new Believing(lease);
            }
          };
        }
      };
    }

    private static final class Believing extends ForwardingLease {
      private final CompletableFuture<LeaseLostException> reported = new CompletableFuture<>();
      private final AtomicBoolean released = new AtomicBoolean();

      Believing(Lease right) {
        super(right);
        var unused =
            right
                .onLoss()
                .thenAccept(
                    loss -> {
                      if (loss.reason() == LossReason.TAKEN) {
                        reported.complete(loss);
                      }
                    });
      }

      @Override
      public boolean isHeld() {
        return !released.get() && !reported.isDone();
      }

      @Override
      public CompletableFuture<LeaseLostException> onLoss() {
        return reported;
      }

      @Override
      public ReleaseOutcome release() {
        released.set(true);
        return super.release();
      }
    }
  }

  static final class ReleaseBelieved extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public boolean release(Claim claim, Deadline deadline) throws InterruptedException {
          try {
            return super.release(claim, deadline);
          } catch (LockUnavailableException e) {
            return true;
          }
        }
      };
    }
  }

  static final class FailureAsContention extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          try {
            return super.tryAcquire(claim, deadline);
          } catch (LockUnavailableException e) {
            return new Attempt.Busy(context.options().pollInterval());
          }
        }
      };
    }
  }

  static final class TokenConstant extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new ForwardingBackend(right(uri, context)) {
        @Override
        public Attempt tryAcquire(Claim claim, Deadline deadline) throws InterruptedException {
          Attempt attempt = super.tryAcquire(claim, deadline);
          if (attempt instanceof Attempt.Granted granted) {
            Grant grant = granted.grant();
            return new Attempt.Granted(
                new Grant(
                    claim,
                    1,
                    grant.validUntil(),
                    grant.effectiveTtl(),
                    grant.validityPerConfirmation(),
                    grant.expiresOnStore()));
          }
          return attempt;
        }
      };
    }
  }

  static final class WithoutDisk extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return right(uri, context);
    }
  }
}
