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
 * Executes a plan. One thread for the store and one for each client inject the faults of their lane
 * one after the other. If it takes so long to end a fault that the next one would be late, the next
 * one is left out. So there is always time to recover, and quiet times stay quiet.
 */
public final class Nemesis {
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration MAX_LATENESS = Duration.ofMillis(500);

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

  /** {@return the plan for this target} */
  public static Plan plan(long seed, Duration duration, Target target, boolean beyond) {
    PossibleFaults possible =
        PossibleFaults.of(
            target.info().failureModel(),
            Optional.ofNullable(target.deployment()),
            ownsStore(target),
            target.clients());
    return Plan.of(seed, duration, beyond ? possible : possible.withinModel());
  }

  /** {@return whether no other program can have locks on the store} */
  private static boolean ownsStore(Target target) {
    return target.deployment() != null
        || target.info().failureModel().under(Fault.CLIENT_KILLED) == Guarantee.NOT_APPLICABLE;
  }

  /**
   * Injects faults until the duration is over or the storm is stopped, and then heals everything.
   *
   * @return the faults, in order of time
   * @throws IllegalStateException if something could not be healed, with the reason
   */
  public List<InjectedFault> run(Duration duration, BooleanSupplier stopped)
      throws InterruptedException {
    CountDownLatch over = new CountDownLatch(1);
    LockOptions options =
        LockOptions.builder().ttl(target.ttl()).requestTimeout(REQUEST_TIMEOUT).build();
    ExecutorService lanes = Executors.newCachedThreadPool(DaemonThreads.factory("nemesis"));
    List<InjectedFault> faults = new ArrayList<>();
    try (LockClient directClient = target.kit().open(target.uri(), options)) {
      long start = System.nanoTime();
      StoreFaults store = new StoreFaults(target.deployment(), directClient, target.names());
      List<Future<List<InjectedFault>>> lanesRunning = new ArrayList<>();
      for (int lane = Plan.STORE; lane < target.clients().size(); lane++) {
        Lane work = new Lane(lane, store, over, start);
        lanesRunning.add(lanes.submit(work::run));
      }
      long end = start + duration.toNanos();
      while (System.nanoTime() - end < 0
          && !stopped.getAsBoolean()
          && lanesRunning.stream().noneMatch(Nemesis::hasFailed)) {
        TimeUnit.MILLISECONDS.sleep(20);
      }
      over.countDown();
      for (Future<List<InjectedFault>> lane : lanesRunning) {
        faults.addAll(lane.get());
      }
      store.heal(); // clients and networks are healed at the end of each fault
    } catch (ExecutionException e) {
      throw new IllegalStateException("the nemesis failed: " + e.getCause(), e.getCause());
    } catch (TestbedException e) {
      throw new IllegalStateException("the store could not be healed: " + e.getMessage(), e);
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

  /** Injects the faults of one lane one after the other. */
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
        if (fault.client() == number && awaitStart(fault)) {
          perform(fault);
        }
      }
      return faults;
    }

    /** Waits for the time of a fault; returns false if it has passed or the storm is over. */
    private boolean awaitStart(PlannedFault fault) throws InterruptedException {
      long delay = start + fault.at().toNanos() - System.nanoTime();
      return delay > -MAX_LATENESS.toNanos()
          && !over.await(Math.max(0, delay), TimeUnit.NANOSECONDS);
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
        store.heal(); // the fault may be in force in part, or the store was unreachable
        record(fault, "", from, /* tookEffect= */ false, String.valueOf(e.getMessage()));
        return;
      }
      boolean tookEffect;
      String note;
      try (injection) {
        boolean cutShort = over.await(fault.duration().toNanos(), TimeUnit.NANOSECONDS);
        tookEffect = injection.tookEffect();
        note = cutShort ? (injection.note() + " cut short").strip() : injection.note();
      }
      record(fault, injection.target(), from, tookEffect, note);
    }

    private Duration now() {
      return Duration.ofNanos(System.nanoTime() - origin);
    }

    private Injection inject(PlannedFault fault) throws Exception {
      return number == Plan.STORE
          ? store.inject(fault.kind(), fault.choice())
          : ClientFaults.inject(fault.kind(), target.clients().get(number), fault.choice());
    }

    private void record(
        PlannedFault fault, String target, Duration from, boolean tookEffect, String note) {
      boolean inside = model.keepsExclusion(fault.kind().fault());
      faults.add(
          new InjectedFault(fault.kind().label(), target, inside, from, now(), tookEffect, note));
    }
  }
}
