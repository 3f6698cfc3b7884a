package dev.interlock.peers;

import java.util.List;

/**
 * A way in which locks break rules of the contract.
 *
 * @param title what happens, in one line
 * @param peers the {@linkplain PeerHarness#key() keys} of the locks
 * @param rules the rules that are broken
 * @param meaning what it means for a program
 * @param documented what the library's documentation says about it
 * @param links where it says so
 * @param program the name of the method of {@link Reproductions} that shows it
 */
record Finding(
    String title,
    List<String> peers,
    List<String> rules,
    String meaning,
    String documented,
    List<String> links,
    String program) {

  private static final String REDISSON_LOCKS =
      "https://github.com/redisson/redisson/blob/master/docs/data-and-services/locks-and-synchronizers.md";
  private static final String CURATOR_LOCK =
      "https://github.com/Netflix/curator/wiki/Shared-Reentrant-Lock";
  private static final String JDK_LOCK =
      "https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/concurrent/locks/Lock.html";
  private static final String SPRING_API =
      "https://docs.spring.io/spring-integration/api/org/springframework/integration/";
  private static final String ETCD_LOCK =
      "https://etcd.io/docs/current/dev-guide/api_concurrency_reference_v3";

  private static final String SHEDLOCK = "https://github.com/lukas-krecan/ShedLock";
  private static final String SHEDLOCK_README = SHEDLOCK + "/blob/master/README.md";

  private static final List<String> REDISSON = List.of("RLock", "RFencedLock", "RedLock");
  private static final List<String> SPRING = List.of("SpringRedis", "SpringJdbc");

  /** {@return everything that was found, in the order of the page} */
  static List<Finding> all() {
    return List.of(
        new Finding(
            "An interrupted acquisition holds the lock for ever",
            REDISSON,
            List.of("WAIT-07", "JUC-03"),
            "A thread pool that is shut down interrupts its threads. If one of them is requesting a"
                + " lock at that moment, the server grants it to a thread that has already stopped"
                + " waiting, and the watchdog renews it as long as the client lives. The lock is"
                + " blocked until that process ends. `RedissonRedLock` ignores the interrupt, and"
                + " returns with the lock.",
            "`RLock` behaves according to the Java Lock specification, which wants"
                + " `InterruptedException` and no lock. Users have reported it, and a correction"
                + " was proposed.",
            List.of(
                REDISSON_LOCKS,
                JDK_LOCK,
                "https://github.com/redisson/redisson/issues/5358",
                "https://github.com/redisson/redisson/issues/7272"),
            "redissonInterruptBeforeTheCall"),
        new Finding(
            "lock() loses an interrupt, and RedissonRedLock's lockInterruptibly() ignores it",
            REDISSON,
            List.of("JUC-03"),
            "A thread that is interrupted while it waits in `lock()` never learns of it. With"
                + " `RedissonRedLock` even a wait that should be interruptible goes on.",
            "`RLock` behaves according to the Java Lock specification.",
            List.of(REDISSON_LOCKS, JDK_LOCK),
            "redissonInterruptWhileWaiting"),
        new Finding(
            "A lost notification delays a waiter until the TTL of a lock that is free",
            List.of("RLock", "RFencedLock"),
            List.of("WAIT-06"),
            "After a broken connection a waiter asks again only when the TTL that it saw last has"
                + " passed: up to 30 s with the default watchdog, or the whole lease time.",
            "Waiters are notified by publish and subscribe, whose messages Redis delivers at most"
                + " once. The documentation says nothing about lost ones.",
            List.of(
                REDISSON_LOCKS,
                "https://redis.io/docs/latest/develop/pubsub/",
                "https://github.com/redisson/redisson/issues/5761"),
            "redissonLostNotification"),
        new Finding(
            "tryLock returns true for a lock that has already expired",
            REDISSON,
            List.of("EXCL-04"),
            "If the answer takes longer than the lease time, two programs believe that they hold"
                + " the lock. `isHeldByCurrentThread()` would tell, at the cost of one more"
                + " request. Redlock's own description subtracts the time that the acquisition"
                + " took.",
            "The lock is released automatically after the lease time; nothing is promised about"
                + " what is left of it.",
            List.of(
                REDISSON_LOCKS,
                "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/"),
            "redissonLateGrant"),
        new Finding(
            "The lock of a thread that has ended is renewed",
            REDISSON,
            List.of("LEASE-09"),
            "A thread that ends with an exception and without `unlock()` blocks everybody else"
                + " until its process ends. A lease time avoids this, at the price of a lock that"
                + " may end too early.",
            "The watchdog prolongs the lock while the Redisson instance is alive, so this is as"
                + " documented.",
            List.of(REDISSON_LOCKS),
            "redissonThreadThatHasEnded"),
        new Finding(
            "tryLockAndGetToken() waits for the holder",
            List.of("RFencedLock"),
            List.of("WAIT-01"),
            "The attempt without a time blocks its thread until the lock is free. `tryLock()` and"
                + " `tryLockAndGetToken(0, unit)` do not; the adapter uses the latter, so that the"
                + " other rules can be tested.",
            "The name, and the same method of other locks, promise an attempt that returns at"
                + " once.",
            List.of(REDISSON_LOCKS),
            "redissonFencedAttempt"),
        new Finding(
            "The counters of tokens never expire",
            List.of("RFencedLock"),
            List.of("REL-04"),
            "Each name that was ever locked keeps a key. With names made from ids the store fills"
                + " up; users have counted millions of these keys.",
            "Not mentioned in the documentation; the question is open in the issue tracker.",
            List.of(REDISSON_LOCKS, "https://github.com/redisson/redisson/issues/6510"),
            "redissonFencedTokens"),
        new Finding(
            "A thread that waits does not notice that its client is shut down",
            REDISSON,
            List.of("REL-05"),
            "The shutdown of an application waits for its threads until the TTL of the lock that"
                + " they wait for has passed. Those that wait for a `RedissonRedLock` never end.",
            "Not mentioned in the documentation.",
            List.of(REDISSON_LOCKS),
            "redissonShutdownWhileWaiting"),
        new Finding(
            "unlock() by a thread that does not hold the lock returns normally",
            List.of("RedLock"),
            List.of("JUC-01", "JUC-02"),
            "A program does not notice that it releases a lock that it does not hold, or has lost"
                + " in the meantime. The lock of the rightful holder stays as it is.",
            "Objects that behave according to the Java Lock specification throw"
                + " `IllegalMonitorStateException`, according to the documentation of `RLock` and"
                + " `MultiLock`. `RedissonRedLock` is deprecated.",
            List.of(REDISSON_LOCKS),
            "redissonRedLockUnlockByAnother"),
        new Finding(
            "An attempt without any server returns false",
            List.of("RedLock"),
            List.of("API-02"),
            "A program cannot tell a lock that somebody holds from servers that are all dead, and"
                + " skips its work as if another instance did it.",
            "Not mentioned. `RedissonRedLock` is deprecated.",
            List.of(REDISSON_LOCKS),
            "redissonRedLockWithoutServers"),
        new Finding(
            "An interrupted tryLock(time) swallows the interrupt",
            SPRING,
            List.of("WAIT-07", "JUC-03"),
            "The thread gets `CannotAcquireLockException` instead of `InterruptedException`, and"
                + " its interrupt status is cleared. Code that treats the exception as contention"
                + " goes on in a thread that was asked to stop.",
            "The registries return `java.util.concurrent.locks.Lock`, whose `tryLock(time, unit)`"
                + " throws `InterruptedException`.",
            List.of(
                "https://docs.spring.io/spring-integration/reference/distributed-locks.html",
                JDK_LOCK),
            "springInterruptWhileWaiting"),
        new Finding(
            "tryLock of a registry returns true for a lock that has already expired",
            SPRING,
            List.of("EXCL-04"),
            "If the answer takes longer than the TTL, two programs believe that they hold the lock,"
                + " and there is no query that would tell. With the default TTLs of 60 s and 10 s"
                + " it takes a long stall.",
            "Locks expire after their TTL; an `unlock()` of an expired one throws, which the"
                + " documentation of `RedisLockRegistry` calls a critical error.",
            List.of(
                SPRING_API + "redis/util/RedisLockRegistry.html",
                SPRING_API + "jdbc/lock/JdbcLockRegistry.html"),
            "springLateGrant"),
        new Finding(
            "A lock that has expired stays locked in its own JVM",
            SPRING,
            List.of("WAIT-05"),
            "Before a registry asks the store it takes a lock of its own in memory, and that one"
                + " has no TTL. If a thread ends without `unlock()`, other JVMs acquire the lock"
                + " after the TTL, but no other thread of this JVM ever does. The kit's own test of"
                + " WAIT-05 waits in another client and passes; tests of EXCL-01 and EXCL-05, which"
                + " acquire again in the same one, show it.",
            "The documentation says that locks expire after their TTL; it does not mention threads"
                + " of the same registry.",
            List.of(
                SPRING_API + "redis/util/RedisLockRegistry.html",
                SPRING_API + "jdbc/lock/JdbcLockRegistry.html"),
            "springExpiredInItsOwnJvm"),
        new Finding(
            "A renewal brings back a lock that has expired",
            List.of("SpringJdbc"),
            List.of("LEASE-04"),
            "Nobody else can have held the lock in between, since the registry renews only the row"
                + " that it wrote itself. But for some time anybody could have acquired it, and the"
                + " holder does not learn of that.",
            "renewLock renews the time to live of a lock that the current thread holds; what it"
                + " does after the TTL is not mentioned.",
            List.of(SPRING_API + "support/locks/RenewableLockRegistry.html"),
            "springJdbcRenewalOfAnExpiredLock"),
        new Finding(
            "With a renewalTaskScheduler, the lock of a thread that has ended is renewed",
            List.of("SpringRedis"),
            List.of("LEASE-09"),
            "A thread that dies without `unlock()` blocks everybody else until its process ends."
                + " Without the scheduler, which is the default, other JVMs get the lock after the"
                + " TTL.",
            "The scheduler renews a lock until it is unlocked; the documentation does not mention"
                + " threads that end.",
            List.of(SPRING_API + "support/locks/RenewableLockRegistry.html"),
            "springRedisThreadThatHasEnded"),
        new Finding(
            "A lock that has ended frees or extends its successor's lock on the same host",
            List.of("ShedLockJdbc"),
            List.of("EXCL-03", "LEASE-04"),
            "`unlock()` and `extend()` look for the lock's name and the host's name. A task that"
                + " takes longer than `lockAtMostFor` frees the lock of the task that runs now, if"
                + " both run on one host, and a third task starts. Hosts with different names are"
                + " not affected. `withLockedByValue` separates the processes of one host, but not"
                + " the runs within one process.",
            "If a task takes longer than `lockAtMostFor`, more than one process may hold the lock."
                + " Since release 7 `unlock()` checks the host's name.",
            List.of(SHEDLOCK_README, SHEDLOCK + "/pull/2959"),
            "shedlockUnlockOfASuccessor"),
        new Finding(
            "lock() returns a lock that has already ended",
            List.of("ShedLockJdbc"),
            List.of("EXCL-04"),
            "If the answer takes longer than `lockAtMostFor`, two tasks run at the same time. Most"
                + " programs set minutes or hours, so it takes a long stall.",
            "`lockAtMostFor` must be much longer than the task normally takes; nothing is said"
                + " about slow answers.",
            List.of(SHEDLOCK_README),
            "shedlockLateGrant"),
        new Finding(
            "The rows of names are never deleted",
            List.of("ShedLockJdbc"),
            List.of("REL-04"),
            "Each name that was ever locked keeps a row. The names of scheduled tasks are few, but"
                + " with names made from ids the table grows for ever. The heap that the kit"
                + " mentions is close to its limit, and is not part of this finding.",
            "Rows must not be deleted by hand, since ShedLock remembers in memory that they"
                + " exist.",
            List.of(SHEDLOCK_README),
            "shedlockRows"),
        new Finding(
            "acquire(time) takes far longer than its time when the server does not answer",
            List.of("Curator"),
            List.of("WAIT-02"),
            "The time limits only the wait in the queue. Each request before and after it goes"
                + " through connection time-out and retry policy, so a call with a limit of one"
                + " second blocks for most of a minute. The kit has seen five minutes.",
            "acquire(time, unit) blocks until the mutex is available or the given time expires;"
                + " every operation is retried according to the retry policy.",
            List.of(CURATOR_LOCK, "https://curator.apache.org/docs/errors"),
            "curatorTimedAcquireOnASilentServer"),
        new Finding(
            "A lock is in the way of another one whose name it begins with",
            List.of("Jetcd"),
            List.of("EXCL-02"),
            "The holder of `job/1` blocks everybody who asks for `job`, but not the other way"
                + " round. etcd looks for other holders below `job/`, and the key of `job/1` is"
                + " there.",
            "The name is the identifier of the lock; that it is used as a prefix is not mentioned.",
            List.of(ETCD_LOCK),
            "jetcdNamesWithASlash"));
  }
}
