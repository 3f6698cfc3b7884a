package dev.interlock.redis;

import dev.interlock.spi.BackendContext;
import dev.interlock.spi.Claim;
import dev.interlock.spi.LockBackend;
import dev.interlock.tck.specimen.Specimen;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.params.SetParams;

/** Locks on Redis that have been recommended, or are found in use. */
final class LiteratureLocks {

  private static final String REASON =
      "the other rules are about what the engine and the connection pool do, which have no part in"
          + " what is wrong here";

  private LiteratureLocks() {}

  private static Specimen.Builder lock(String name, String source) {
    return Specimen.fromLiterature(name, source)
        .onlyRules(
            REASON,
            "EXCL-*",
            "WAIT-03",
            "WAIT-04",
            "WAIT-05",
            "WAIT-06",
            "LEASE-01",
            "LEASE-02",
            "LEASE-03",
            "LEASE-04",
            "LEASE-07",
            "LOSS-01",
            "LOSS-02",
            "LOSS-05",
            "REL-01",
            "REL-02",
            "ADMIN-*",
            "API-02")
        .exceptRules(REASON, "FAULT-01", "REL-02", "REL-03");
  }

  static List<Specimen> all() {
    return List.of(
        lock("SETNX without expiry", "Redis documentation of SETNX, before the timestamps")
            .fault("The lock of a dead holder never ends.")
            .harness(WithoutExpiry::new)
            .refusedBy("EXCL-01", "after leases that expired")
            .refusedBy("EXCL-03", "the lease did not expire")
            .refusedBy("EXCL-05", "did not expire")
            .refusedBy("LEASE-01", "the store did not free the lock after the TTL")
            .refusedBy("LEASE-04", "took the lock again")
            .refusedBy("LOSS-05", "the stopped process still holds the lock")
            .refusedBy("WAIT-04", "did not get all of the killed process's")
            .refusedBy("WAIT-05", "after the TTL")
            .build(),
        lock("SETNX, then EXPIRE", "many tutorials")
            .fault("A client that dies between the two commands leaves a lock that never ends.")
            .harness(ExpiryInASecondStep::new)
            .refusedBy("EXCL-05", "the grant to a client that vanished did not expire")
            .build(),
        lock("DEL without an owner", "many tutorials; warned of in the documentation of SET")
            .fault("A release deletes the key, even if another client holds it by then.")
            .harness(DeleteWithoutOwner::new)
            .refusedBy("EXCL-03", "the store confirmed a stale release")
            .refusedBy("ADMIN-02", "touched its successor")
            .refusedBy("EXCL-08", "the successor's lock was freed")
            .build(),
        lock("SETNX and GETSET with timestamps", "Redis documentation of SETNX")
            .fault(
                "The value is the time of expiry by the client's clock, without an owner. A client"
                    + " that finds it past swaps in its own, and a second one overwrites that.")
            .harness(Timestamps::new)
            .refusedBy("EXCL-03", "the store confirmed a stale release")
            .refusedBy("LEASE-04", "a lost lease was renewed")
            .refusedBy("LOSS-01", "the loss was not reported within a renewal interval")
            .refusedBy("ADMIN-02", "touched its successor")
            .refusedBy("EXCL-08", "the successor's lock was freed")
            .build(),
        lock("GET, then DEL", "many client libraries, before scripts")
            .fault("The owner is compared by the client, and the key is deleted in a second step.")
            .harness(GetThenDelete::new)
            .refusedBy("EXCL-03", "the successor's")
            .build(),
        lock("extended by DEL, then SET", "home-made watchdogs")
            .fault("A renewal deletes the key and sets it again.")
            .harness(DeleteThenSet::new)
            .refusedBy("LEASE-02", "another client acquired the lock during its renewal")
            .build());
  }

  static final class WithoutExpiry extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean take(String key, Claim claim) {
          return setIfAbsent(key, claim.id());
        }

        @Override
        boolean extend(String key, Claim claim) {
          return claim.id().equals(redis.get(key));
        }
      };
    }
  }

  static final class ExpiryInASecondStep extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean take(String key, Claim claim) {
          return setIfAbsent(key, claim.id()) && redis.pexpire(key, millis(claim.ttl())) == 1;
        }
      };
    }
  }

  static final class DeleteWithoutOwner extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean delete(String key, Claim claim) {
          return redis.del(key) == 1;
        }
      };
    }
  }

  static final class Timestamps extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean take(String key, Claim claim) {
          String mine = expiry(claim);
          if (setIfAbsent(key, mine)) {
            return true;
          }
          String found = redis.get(key);
          return isPast(found) && String.valueOf(found).equals(redis.setGet(key, mine));
        }

        @Override
        boolean extend(String key, Claim claim) {
          redis.set(key, expiry(claim));
          return true;
        }

        @Override
        boolean delete(String key, Claim claim) {
          return redis.del(key) == 1;
        }

        private String expiry(Claim claim) {
          return Long.toString(System.currentTimeMillis() + millis(claim.ttl()));
        }

        private boolean isPast(@Nullable String expiry) {
          return expiry != null && Long.parseLong(expiry) < System.currentTimeMillis();
        }
      };
    }
  }

  static final class GetThenDelete extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean delete(String key, Claim claim) {
          return claim.id().equals(redis.get(key)) && redis.del(key) == 1;
        }
      };
    }
  }

  static final class DeleteThenSet extends RedisSpecimen {
    @Override
    LockBackend backend(String uri, BackendContext context) {
      return new TextbookLock(uri, context) {
        @Override
        boolean extend(String key, Claim claim) {
          if (!claim.id().equals(redis.get(key))) {
            return false;
          }
          redis.del(key);
          return "OK"
              .equals(
                  redis.set(key, claim.id(), SetParams.setParams().nx().px(millis(claim.ttl()))));
        }
      };
    }
  }
}
