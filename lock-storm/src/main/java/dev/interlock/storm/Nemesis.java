package dev.interlock.storm;

import dev.interlock.FailureModel;
import dev.interlock.FailureModel.Survives;
import dev.interlock.Fault;
import dev.interlock.LockClient;
import dev.interlock.LockOptions;
import dev.interlock.tck.fault.Network;
import java.io.IOException;
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
 * Executes a plan: a thread for the store, and one for each client, deals the blows of its lane one
 * after the other and undoes each. A blow that would come late, because undoing the one before it
 * took long, is left out, so that there is time to recover and calms stay calm.
 */
final class Nemesis {
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration GLANCE = Duration.ofMillis(20);
  private static final Duration LATEST = Duration.ofMillis(500);

  private final Ground ground;
  private final Plan plan;
  private final FailureModel model;

  Nemesis(Ground ground, Plan plan) {
    this.ground = ground;
    this.plan = plan;
    this.model = ground.info().failureModel();
  }

  /** The plan for this ground. */
  static Plan plan(long seed, Duration duration, Ground ground, boolean beyond) {
    Repertoire repertoire =
        Repertoire.of(
            ground.info().failureModel(),
            Optional.ofNullable(ground.deployment()),
            isOurs(ground),
            ground.clients());
    return Plan.of(seed, duration, beyond ? repertoire : repertoire.withinModel());
  }

  /** Whether nobody else can have anything on the store. */
  private static boolean isOurs(Ground ground) {
    return ground.deployment() != null
        || ground.info().failureModel().under(Fault.CLIENT_KILLED) == Survives.NOT_APPLICABLE;
  }

  /**
   * Strikes until the plan's duration is over or it is told to stop; then everything is healed:
   * networks, servers, clients.
   *
   * @return what happened, in order of time
   * @throws IllegalStateException if something could not be healed, with the reason
   */
  List<Blow> rage(Duration duration, BooleanSupplier stopped) throws InterruptedException {
    CountDownLatch over = new CountDownLatch(1);
    LockOptions options =
        LockOptions.builder().ttl(ground.ttl()).requestTimeout(REQUEST_TIMEOUT).build();
    ExecutorService lanes =
        Executors.newCachedThreadPool(
            work -> {
              Thread thread = new Thread(work, "nemesis");
              thread.setDaemon(true);
              return thread;
            });
    List<Blow> blows = new ArrayList<>();
    try (LockClient past = ground.kit().open(ground.uri(), options)) {
      long start = System.nanoTime();
      StoreHarms store = new StoreHarms(ground.deployment(), past, ground.names());
      List<Future<List<Blow>>> working = new ArrayList<>();
      for (int lane = Plan.STORE; lane < ground.clients().count(); lane++) {
        Lane work = new Lane(lane, store, over, start);
        working.add(lanes.submit(work::run));
      }
      long end = start + duration.toNanos();
      while (System.nanoTime() - end < 0
          && !stopped.getAsBoolean()
          && working.stream().noneMatch(Nemesis::hasFailed)) {
        TimeUnit.MILLISECONDS.sleep(GLANCE.toMillis());
      }
      over.countDown();
      for (Future<List<Blow>> lane : working) {
        blows.addAll(lane.get());
      }
      healAll(store);
    } catch (ExecutionException e) {
      throw new IllegalStateException("the nemesis failed: " + e.getCause(), e.getCause());
    } catch (IOException e) {
      throw new IllegalStateException("the store was not healed: " + e.getMessage(), e);
    } finally {
      over.countDown();
      lanes.shutdown();
    }
    blows.sort(Comparator.comparingLong(Blow::from));
    return blows;
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

  private void healAll(StoreHarms store) throws IOException, InterruptedException {
    for (int client = 0; client < ground.clients().count(); client++) {
      ground.clients().network(client).ifPresent(Network::heal);
    }
    store.heal();
  }

  /** Those blows that follow each other. */
  private final class Lane {
    private final int number;
    private final StoreHarms store;
    private final CountDownLatch over;
    private final long start;
    private final List<Blow> blows = new ArrayList<>();

    Lane(int number, StoreHarms store, CountDownLatch over, long start) {
      this.number = number;
      this.store = store;
      this.over = over;
      this.start = start;
    }

    List<Blow> run() throws Exception {
      for (Step step : plan.steps()) {
        if (step.client() == number && awaitTurn(step)) {
          strike(step);
        }
      }
      return blows;
    }

    /** Waits for the step's turn; false if that has passed, or it is all over. */
    private boolean awaitTurn(Step step) throws InterruptedException {
      long left = start + step.at().toNanos() - System.nanoTime();
      return left > -LATEST.toNanos() && !over.await(Math.max(0, left), TimeUnit.NANOSECONDS);
    }

    private void strike(Step step) throws Exception {
      long from = System.nanoTime();
      Harm harm;
      try {
        harm = deal(step);
      } catch (Exception e) {
        if (number != Plan.STORE) {
          throw e;
        }
        store.heal(); // dealt by half, or not at all since the store was not to be reached
        note(step, "", from, /* struck= */ false, String.valueOf(e.getMessage()));
        return;
      }
      boolean struck;
      String note;
      try (harm) {
        boolean cutShort = over.await(step.lasting().toNanos(), TimeUnit.NANOSECONDS);
        struck = harm.struck();
        note = cutShort ? (harm.note() + " cut short").strip() : harm.note();
      }
      note(step, harm.target(), from, struck, note);
    }

    private Harm deal(Step step) throws Exception {
      return number == Plan.STORE
          ? store.deal(step.kind(), step.choice())
          : ClientHarms.deal(step.kind(), ground.clients(), number, step.choice());
    }

    private void note(Step step, String target, long from, boolean struck, String note) {
      boolean inside = model.keepsExclusion(step.kind().fault());
      blows.add(
          new Blow(step.kind().label(), target, inside, from, System.nanoTime(), struck, note));
    }
  }

  @Override
  public String toString() {
    return plan + " on " + ground.info().name();
  }
}
