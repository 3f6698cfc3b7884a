package dev.interlock.storm.nemesis;

import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Guarantee;
import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.spi.DaemonThreads;
import dev.interlock.testbed.process.TestbedException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * Executes a plan: a thread for the store, and one for each client, injects the faults of its lane
 * one after the other and ends each. A fault is left out if it would be late because ending the one
 * before it took long; so there is time to recover, and calms stay calm.
 */
public final class Nemesis {
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration LATEST = Duration.ofMillis(500);

  private final Target target;
  private final Plan plan;
  private final FailureModel model;
  private final long origin;

  /**
   * Prepares to execute a plan.
   *
   * @param origin {@link System#nanoTime()} at the beginning of the storm
   */
  public Nemesis(Target target, Plan plan, long origin) {
    this.target = target;
    this.plan = plan;
    this.model = target.info().failureModel();
    this.origin = origin;
  }

  /** The plan for this target. */
  public static Plan plan(long seed, Duration duration, Target target, boolean beyond) {
    PossibleFaults catalog =
        PossibleFaults.of(
            target.info().failureModel(),
            Optional.ofNullable(target.deployment()),
            isOurs(target),
            target.clients());
    return Plan.of(seed, duration, beyond ? catalog : catalog.withinModel());
  }

  /** Whether no other program can have locks on the store. */
  private static boolean isOurs(Target target) {
    return target.deployment() != null
        || target.info().failureModel().under(Fault.CLIENT_KILLED) == Guarantee.NOT_APPLICABLE;
  }

  /**
   * Injects faults until the duration is over or it is stopped; then heals everything that they
   * hit.
   *
   * @return what happened, in order of time
   * @throws IllegalStateException if something could not be healed, with the reason
   */
  public List<InjectedFault> run(Duration duration, BooleanSupplier stopped)
      throws InterruptedException {
    CountDownLatch over = new CountDownLatch(1);
    LockOptions options =
        LockOptions.builder().ttl(target.ttl()).requestTimeout(REQUEST_TIMEOUT).build();
    ExecutorService lanes = Executors.newCachedThreadPool(DaemonThreads.factory("nemesis"));
    List<InjectedFault> faults = new ArrayList<>();
    try (LockClient past = target.kit().open(target.uri(), options)) {
      long start = System.nanoTime();
      StoreFaults store = new StoreFaults(target.deployment(), past, target.names());
      List<Future<List<InjectedFault>>> working = new ArrayList<>();
      for (int lane = Plan.STORE; lane < target.clients().size(); lane++) {
        Lane work = new Lane(lane, store, over, start);
        working.add(lanes.submit(work::run));
      }
      long end = start + duration.toNanos();
      while (System.nanoTime() - end < 0
          && !stopped.getAsBoolean()
          && working.stream().noneMatch(Nemesis::hasFailed)) {
        TimeUnit.MILLISECONDS.sleep(20);
      }
      over.countDown();
      for (Future<List<InjectedFault>> lane : working) {
        faults.addAll(lane.get());
      }
      store.heal(); // clients and networks are healed at the end of each fault
    } catch (ExecutionException e) {
      throw new IllegalStateException("the nemesis failed: " + e.getCause(), e.getCause());
    } catch (TestbedException e) {
      throw new IllegalStateException("the store was not healed: " + e.getMessage(), e);
    } finally {
      over.countDown();
      lanes.shutdown();
    }
    faults.sort(Comparator.comparing(InjectedFault::from));
    return faults;
  }

  private static boolean hasFailed(Future<?> lane) {
    if (!lane.isDone()) {
      return false;
    }
    try {
      lane.get();
      return false;
    } catch (ExecutionException | InterruptedException e) {
      return true;
    }
  }

  /** The faults of one lane, which follow each other. */
  private final class Lane {
    private final int number;
    private final StoreFaults store;
    private final CountDownLatch over;
    private final long start;
    private final List<InjectedFault> faults = new ArrayList<>();

    Lane(int number, StoreFaults store, CountDownLatch over, long start) {
      this.number = number;
      this.store = store;
      this.over = over;
      this.start = start;
    }

    List<InjectedFault> run() throws Exception {
      for (PlannedFault fault : plan.faults()) {
        if (fault.client() == number && awaitTurn(fault)) {
          perform(fault);
        }
      }
      return faults;
    }

    /** Waits for the time of a fault; false if that has passed, or the storm is over. */
    private boolean awaitTurn(PlannedFault fault) throws InterruptedException {
      long left = start + fault.at().toNanos() - System.nanoTime();
      return left > -LATEST.toNanos() && !over.await(Math.max(0, left), TimeUnit.NANOSECONDS);
    }

    private void perform(PlannedFault fault) throws Exception {
      Duration from = now();
      Injection injection;
      try {
        injection = inject(fault);
      } catch (Exception e) {
        if (number != Plan.STORE) {
          throw e;
        }
        store.heal(); // partly injected, or the store was unreachable
        note(fault, "", from, /* tookEffect= */ false, String.valueOf(e.getMessage()));
        return;
      }
      boolean tookEffect;
      String note;
      try (injection) {
        boolean cutShort = over.await(fault.lasting().toNanos(), TimeUnit.NANOSECONDS);
        tookEffect = injection.tookEffect();
        note = cutShort ? (injection.note() + " cut short").strip() : injection.note();
      }
      note(fault, injection.target(), from, tookEffect, note);
    }

    private Duration now() {
      return Duration.ofNanos(System.nanoTime() - origin);
    }

    private Injection inject(PlannedFault fault) throws Exception {
      return number == Plan.STORE
          ? store.inject(fault.kind(), fault.choice())
          : ClientFaults.inject(fault.kind(), target.clients().get(number), fault.choice());
    }

    private void note(
        PlannedFault fault, String target, Duration from, boolean tookEffect, String note) {
      boolean inside = model.keepsExclusion(fault.kind().fault());
      faults.add(
          new InjectedFault(fault.kind().label(), target, inside, from, now(), tookEffect, note));
    }
  }
}
