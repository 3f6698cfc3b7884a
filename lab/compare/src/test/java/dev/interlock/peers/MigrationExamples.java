package dev.interlock.peers;

import static java.util.concurrent.TimeUnit.SECONDS;

import dev.interlock.DistributedLock;
import dev.interlock.LeaderElection;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.shedlock.InterlockLockProvider;
import dev.interlock.spring.integration.InterlockLockRegistry;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.election.LeaderKey;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ScheduledExecutorService;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.support.KeepAliveLockProvider;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListener;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.RevocationListener;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.jdbc.lock.LockRepository;
import org.springframework.integration.leader.Candidate;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.TaskScheduler;

/** The calls in docs/migrating.md; {@link MigratingPageTest} looks for them here. */
@SuppressWarnings({
  "unused",
  "CheckReturnValue",
  "FutureReturnValueIgnored",
  "LockNotBeforeTry",
  "resource",
  "deprecation"
})
final class MigrationExamples {
  private MigrationExamples() {}

  static void redisson(RedissonClient redisson, RLock a, RLock b, RLock c) throws Exception {
    RLock lock = redisson.getLock("orders");
    lock.lock();
    lock.lock(10, SECONDS);
    lock.tryLock();
    lock.tryLock(5, SECONDS);
    lock.lockAsync();
    lock.unlock();
    lock.isHeldByCurrentThread();
    lock.isLocked();
    lock.remainTimeToLive();
    lock.forceUnlock();
    RFencedLock fenced = redisson.getFencedLock("orders");
    fenced.lockAndGetToken();
    redisson.getFairLock("orders");
    redisson.getMultiLock(a, b);
    redisson.getRedLock(a, b, c);
    redisson.getReadWriteLock("catalog").readLock();
    RSemaphore semaphore = redisson.getSemaphore("exports");
    semaphore.trySetPermits(5);
    semaphore.acquire(2);
    redisson.getPermitExpirableSemaphore("exports").acquire(10, SECONDS);
  }

  static void curator(
      CuratorFramework curator,
      ConnectionStateListener listener,
      RevocationListener<InterProcessMutex> revoked,
      LeaderSelectorListener leader)
      throws Exception {
    InterProcessMutex mutex = new InterProcessMutex(curator, "/orders");
    mutex.acquire();
    mutex.acquire(5, SECONDS);
    mutex.release();
    mutex.isAcquiredInThisProcess();
    mutex.makeRevocable(revoked);
    curator.getConnectionStateListenable().addListener(listener);
    new InterProcessReadWriteLock(curator, "/catalog").readLock();
    new InterProcessMultiLock(curator, List.of("/a", "/b"));
    new InterProcessSemaphoreV2(curator, "/exports", 5).acquire(2);
    LeaderLatch latch = new LeaderLatch(curator, "/scheduler");
    latch.await();
    latch.hasLeadership();
    new LeaderSelector(curator, "/scheduler", leader).autoRequeue();
  }

  static void jetcd(
      Client etcd,
      ByteSequence name,
      ByteSequence key,
      ByteSequence proposal,
      LeaderKey leaderKey,
      io.etcd.jetcd.Election.Listener listener,
      StreamObserver<LeaseKeepAliveResponse> observer)
      throws Exception {
    long leaseId = etcd.getLeaseClient().grant(10).get().getID();
    etcd.getLeaseClient().keepAlive(leaseId, observer);
    etcd.getLockClient().lock(name, leaseId);
    etcd.getLockClient().unlock(key);
    etcd.getElectionClient().campaign(name, leaseId, proposal);
    etcd.getElectionClient().leader(name);
    etcd.getElectionClient().observe(name, listener);
    etcd.getElectionClient().resign(leaderKey);
  }

  static void springIntegration(
      RedisConnectionFactory connections,
      LockRepository repository,
      TaskScheduler scheduler,
      Candidate candidate,
      Callable<String> work)
      throws Exception {
    RenewableLockRegistry<?> byDatabase = new JdbcLockRegistry(repository);
    RedisLockRegistry registry = new RedisLockRegistry(connections, "orders");
    registry.setRenewalTaskScheduler(scheduler);
    registry.obtain("42").lock();
    registry.obtain("42").tryLock(Duration.ofSeconds(5), Duration.ofSeconds(10));
    registry.renewLock("42");
    registry.obtain("42").unlock();
    registry.executeLocked("42", work::call);
    new LockRegistryLeaderInitiator(registry, candidate);
  }

  static void shedLock(
      DataSource database,
      ExtensibleLockProvider provider,
      ScheduledExecutorService executorService,
      LockingTaskExecutor executor,
      Runnable task,
      LockConfiguration configuration) {
    LockProvider byDatabase = new JdbcTemplateLockProvider(database);
    new KeepAliveLockProvider(provider, executorService);
    executor.executeWithLock(task, configuration);
    LockExtender.extendActiveLock(Duration.ofMinutes(10), Duration.ZERO);
  }

  static void interlock(
      LockClient client, Callable<String> work, LeaderElection.LeaderWork leaderWork)
      throws Exception {
    DistributedLock lock = client.lock("orders");
    lock.asLock();
    client.lock("orders", options -> options.ttl(Duration.ofSeconds(10)));
    Lease lease = lock.acquire();
    client
        .lock("orders", options -> options.ttl(Duration.ofSeconds(10)).autoRenew(false))
        .acquire();
    client
        .lock("orders/42", options -> options.ttl(Duration.ofSeconds(10)))
        .tryAcquire(Duration.ofSeconds(5));
    client.lock("report", options -> options.maxHold(Duration.ofMinutes(10))).tryAcquire();
    client.lock("orders/42").acquire();
    lock.tryAcquire();
    lock.tryAcquire(Duration.ofSeconds(5));
    lock.acquireAsync();
    lease.close();
    lease.isHeld();
    boolean isExpired = !lease.isHeld();
    lease.renew();
    lease.remainingValidity();
    lease.fencingToken();
    lease.onLoss();
    lease.onEvent(event -> {});
    lease.callWhileHeld(work);
    client.admin().inspect("orders").isHeld();
    client.admin().forceRelease("orders");
    client.admin().revoke("orders");
    client.multiLock(List.of("a", "b"));
    LockClient.open("redlock://one:6379,two:6379,three:6379");
    client.readWriteLock("catalog").readLock();
    client.semaphore("exports", 5).permits(2).acquire();
    client
        .semaphore("exports", 5, options -> options.ttl(Duration.ofSeconds(10)).autoRenew(false))
        .acquire();
    LeaderElection election = client.election("scheduler");
    Lease leadership = election.campaign();
    election.campaignAsync();
    leadership.isHeld();
    leadership.close();
    election.start(leaderWork);
    election.leader();
    election.observe(leader -> {});
    new InterlockLockRegistry(client, "orders/");
    new InterlockLockProvider(client);
  }
}
