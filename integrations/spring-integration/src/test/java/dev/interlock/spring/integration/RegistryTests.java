package dev.interlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.Harness;
import dev.interlock.tck.process.OtherProcess;
import dev.interlock.tck.process.RemoteTask;
import dev.interlock.tck.process.Worker;
import dev.interlock.tck.sample.SomeTests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.integration.aggregator.AggregatingMessageHandler;
import org.springframework.integration.aggregator.DefaultAggregatingMessageGroupProcessor;
import org.springframework.integration.channel.QueueChannel;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.store.SimpleMessageStore;
import org.springframework.integration.support.MessageBuilder;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.messaging.Message;

/** Spring Integration's components that use a lock registry, on a real store. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
abstract class RegistryTests {

  @RegisterExtension static final SomeTests SAMPLE = new SomeTests();
  private static final LockOptions OPTIONS =
      LockOptions.builder().ttl(Duration.ofSeconds(10)).build();
  private static final String ROLE = "scheduler";
  private static final int SIZE = 20;

  /** A pause in the critical section, so that a second thread in it would be noticed. */
  private static final long PAUSE_NANOS = 1_000_000;

  abstract String uri();

  private LockClient open() {
    return LockClient.open(uri(), OPTIONS);
  }

  @Test
  void oneThreadOfAllRegistriesIsInTheSection() throws Exception {
    int[] counter = new int[1];
    ExecutorService executor = Executors.newFixedThreadPool(6);
    try (LockClient one = open();
        LockClient other = open()) {
      List<Future<?>> workers = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        Lock lock = new InterlockLockRegistry(i % 2 == 0 ? one : other).obtain("section");
        workers.add(
            executor.submit(
                () -> {
                  for (int round = 0; round < 20; round++) {
                    lock.lock();
                    try {
                      int before = counter[0];
                      LockSupport.parkNanos(PAUSE_NANOS);
                      counter[0] = before + 1;
                    } finally {
                      lock.unlock();
                    }
                  }
                }));
      }
      for (Future<?> worker : workers) {
        worker.get(2, TimeUnit.MINUTES);
      }
      assertEquals(120, counter[0]);
    } finally {
      executor.shutdownNow();
    }
  }

  @Configuration
  @EnableIntegration
  static class Integration {}

  private final AtomicInteger inside = new AtomicInteger();
  private final AtomicInteger maxInside = new AtomicInteger();

  private AggregatingMessageHandler aggregator(
      BeanFactory beans, LockClient client, SimpleMessageStore groups, QueueChannel output) {
    AggregatingMessageHandler aggregator =
        new AggregatingMessageHandler(new DefaultAggregatingMessageGroupProcessor(), groups);
    aggregator.setLockRegistry(new InterlockLockRegistry(client, "aggregator/"));
    aggregator.setOutputChannel(output);
    aggregator.setReleaseStrategy(
        group -> {
          maxInside.accumulateAndGet(inside.incrementAndGet(), Math::max);
          LockSupport.parkNanos(PAUSE_NANOS);
          inside.decrementAndGet();
          return group.size() == SIZE;
        });
    aggregator.setExpireGroupsUponCompletion(true);
    aggregator.setBeanFactory(beans);
    aggregator.afterPropertiesSet();
    aggregator.start();
    return aggregator;
  }

  /** Two nodes keep their groups in one database. */
  @Test
  void twoAggregatorsReleaseAGroupOnce() throws Exception {
    SimpleMessageStore groups = new SimpleMessageStore();
    QueueChannel output = new QueueChannel();
    ExecutorService executor = Executors.newFixedThreadPool(6);
    try (LockClient one = open();
        LockClient other = open();
        AnnotationConfigApplicationContext context =
            new AnnotationConfigApplicationContext(Integration.class)) {
      List<AggregatingMessageHandler> nodes =
          List.of(
              aggregator(context, one, groups, output), aggregator(context, other, groups, output));
      List<Future<?>> sent = new ArrayList<>();
      for (int i = 0; i < SIZE; i++) {
        Message<Integer> part =
            MessageBuilder.withPayload(i)
                .setCorrelationId("group")
                .setSequenceSize(SIZE)
                .setSequenceNumber(i + 1)
                .build();
        AggregatingMessageHandler node = nodes.get(i % 2);
        sent.add(executor.submit(() -> node.handleMessage(part)));
      }
      for (Future<?> each : sent) {
        each.get(2, TimeUnit.MINUTES);
      }
      Message<?> whole = output.receive(0);
      assertEquals(SIZE, ((List<?>) whole.getPayload()).size());
      assertNull(output.receive(0));
      assertEquals(1, maxInside.get(), "nodes at one group at a time");
      assertEquals(0, groups.getMessageGroupCount());
      nodes.forEach(AggregatingMessageHandler::stop);
    } finally {
      executor.shutdownNow();
    }
  }

  /** A candidate that records its leaderships. */
  private static final class Candidate extends DefaultCandidate {
    private final BlockingQueue<String> changes = new LinkedBlockingQueue<>();

    Candidate() {
      super("candidate", ROLE);
    }

    @Override
    public void onGranted(Context context) {
      changes.add("granted");
    }

    @Override
    public void onRevoked(Context context) {
      changes.add("revoked");
    }

    String next() throws InterruptedException {
      String next = changes.poll(1, TimeUnit.MINUTES);
      return next == null ? "nothing" : next;
    }
  }

  private static GenericApplicationContext contextOf(LockClient client, Candidate candidate) {
    GenericApplicationContext context = new GenericApplicationContext();
    context.registerBean(
        LockRegistryLeaderInitiator.class,
        () -> {
          LockRegistryLeaderInitiator initiator =
              new LockRegistryLeaderInitiator(
                  new InterlockLockRegistry(client, "leaders/"), candidate);
          initiator.setHeartBeatMillis(100);
          initiator.setBusyWaitMillis(20);
          return initiator;
        });
    context.refresh();
    return context;
  }

  /** Leads in another process until that process is killed. */
  static final class Lead implements RemoteTask {
    @Override
    public String run(Worker worker, List<String> arguments) throws Exception {
      Candidate candidate = new Candidate();
      contextOf(worker.client(), candidate);
      return candidate.next();
    }
  }

  @Test
  void whenTheProcessOfTheLeaderIsKilledAnotherLeads() throws Exception {
    OtherProcess.Settings settings =
        new OtherProcess.Settings(Harness.at(uri()), uri(), OPTIONS, List.of(), false);
    Candidate here = new Candidate();
    try (OtherProcess leader = OtherProcess.start(settings);
        LockClient client = open()) {
      assertEquals("granted", leader.call(Duration.ofMinutes(1), Lead.class));
      try (GenericApplicationContext context = contextOf(client, here)) {
        assertNull(here.changes.poll(500, TimeUnit.MILLISECONDS), "two leaders");
        leader.kill();
        assertEquals("granted", here.next());
        assertTrue(context.getBean(LockRegistryLeaderInitiator.class).getContext().isLeader());
      }
      assertEquals("revoked", here.next());
    }
  }

  @Test
  void aLeaderThatLosesItsLockIsRevokedAndAnotherLeads() throws Exception {
    Candidate first = new Candidate();
    Candidate second = new Candidate();
    try (LockClient one = open();
        LockClient other = open();
        GenericApplicationContext leading = contextOf(one, first)) {
      assertEquals("granted", first.next());
      try (GenericApplicationContext waiting = contextOf(other, second)) {
        assertTrue(other.admin().forceRelease("leaders/" + ROLE));
        assertEquals("granted", second.next());
        assertEquals("revoked", first.next());
        LockRegistryLeaderInitiator led = leading.getBean(LockRegistryLeaderInitiator.class);
        assertFalse(led.getContext().isLeader());
        assertTrue(waiting.isActive());
      }
      assertEquals("granted", first.next(), "it goes on trying");
    }
  }
}
