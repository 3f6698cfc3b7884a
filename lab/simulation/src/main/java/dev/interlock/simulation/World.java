package dev.interlock.simulation;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockException;
import dev.interlock.LockOptions;
import dev.interlock.LockUnavailableException;
import dev.interlock.internal.Residue;
import dev.interlock.simulation.machine.Failure;
import dev.interlock.simulation.machine.Machine;
import dev.interlock.simulation.machine.Scheduler;
import dev.interlock.simulation.machine.SimThread;
import dev.interlock.simulation.model.Network;
import dev.interlock.simulation.model.QueueBackend;
import dev.interlock.simulation.model.QueueServer;
import dev.interlock.simulation.model.Server;
import dev.interlock.simulation.model.TtlBackend;
import dev.interlock.simulation.model.TtlServer;
import dev.interlock.simulation.oracle.Held;
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.workload.Observer;
import dev.interlock.simulation.workload.Plan;
import dev.interlock.simulation.workload.Plan.Op;
import dev.interlock.simulation.workload.Plan.PlannedFault;
import dev.interlock.simulation.workload.Program;
import dev.interlock.simulation.workload.Surroundings;
import dev.interlock.spi.BackendContext;
import dev.interlock.spi.ClientsWithTimeSource;
import dev.interlock.spi.Grant;
import dev.interlock.spi.LockBackend;
import dev.interlock.spi.Share;
import dev.interlock.spi.TimeSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Builds what a plan describes, runs it, and checks the outcome. */
final class World implements Surroundings {

  private static final long MS = 1_000_000;
  private static final long SLOW_CLOSE = 3; // request time-outs
  private static final long MOST_LISTENING = TimeUnit.MINUTES.toNanos(1);
  private static final long MOST_TIME = TimeUnit.MINUTES.toNanos(40);

  /** The outcome of a world. */
  record Result(
      @Nullable Failure failure,
      long fingerprint,
      int steps,
      int leases,
      long nanos,
      List<String> lines) {}

  /** Opens a client of a backend other than the models. */
  interface ClientOpener {
    LockClient open(LockOptions options, TimeSource time);
  }

  private final Plan plan;
  private final Plan.Setting setting;
  private final @Nullable ClientOpener opener;
  private final Scheduler scheduler;
  private final Network network;
  private final Journal journal;
  private final List<Server> servers = new ArrayList<>();
  private final List<Machine> machines = new ArrayList<>();
  private final List<Host> hosts = new ArrayList<>();
  private final Machine observer;
  private final long began;

  private World(Plan plan, @Nullable ClientOpener opener, boolean traced) {
    this.plan = plan;
    this.setting = plan.setting();
    this.opener = opener;
    SplittableRandom random = new SplittableRandom(plan.seed());
    this.scheduler = new Scheduler(random.split(), MOST_TIME);
    this.began = scheduler.now();
    this.network = new Network(scheduler, setting.delay());
    this.journal =
        new Journal(
            scheduler,
            setting.requestTimeout(),
            setting.ttl(),
            this::keptUntil,
            plan.faults().isEmpty() && !plan.takesAway(),
            traced);
    this.observer = new Machine(scheduler, "world", random.split(), 1, 0, true, 9);
    for (int i = 0; i < plan.servers(); i++) {
      servers.add(
          plan.store() == Plan.Store.QUEUE
              ? new QueueServer(scheduler, "server")
              : new TtlServer(scheduler, "server-" + i));
    }
    for (int i = 0; i < plan.clients(); i++) {
      // Clients of the memory backend compare times with each other.
      boolean sameClock = plan.store() == Plan.Store.MEMORY;
      double rate = sameClock ? 1 : 1 + (random.nextInt(5) - 2) * 0.001;
      machines.add(
          new Machine(
              scheduler,
              "client-" + (i + 1),
              random.split(),
              rate,
              sameClock ? 0 : random.nextLong(),
              setting.virtualThreads(),
              setting.pool()));
    }
  }

  /** Runs the world of a plan, on the models of stores unless there is an opener. */
  static Result run(Plan plan, @Nullable ClientOpener opener, boolean traced) {
    World world = new World(plan, opener, traced);
    if (plan.hasElections()) {
      world.scheduler.atTheEnd(world::endCandidacies);
    }
    world.observer.run("order", world::order);
    world.scheduler.run();
    return new Result(
        world.scheduler.failure(),
        world.scheduler.fingerprint(),
        world.scheduler.steps(),
        world.journal.leases(),
        world.scheduler.now() - world.began,
        world.journal.lines());
  }

  // --- for programs ---------------------------------------------------------------------------

  @Override
  public Plan plan() {
    return plan;
  }

  @Override
  public Journal journal() {
    return journal;
  }

  @Override
  public long now() {
    return scheduler.now();
  }

  @Override
  public void fail(String rule, String what) {
    scheduler.fail(rule, what);
  }

  /** Until when the store keeps a lease without renewal; for ever if that is unknown. */
  private long keptUntil(Held held) {
    if (servers.size() != 1 || held.token == 0) {
      return Journal.NEVER;
    }
    long until = servers.get(0).keptUntil(held.name, held.token / Grant.LEASES_PER_GRANT);
    return until == 0 && setting.outside() ? Journal.NEVER : until;
  }

  @Override
  public boolean isTokenOfStore() {
    return servers.size() <= 1 && !setting.outside();
  }

  @Override
  public boolean isOnModel() {
    return !servers.isEmpty();
  }

  @Override
  public boolean isStoreThere() {
    return servers.isEmpty() || plan.faults().isEmpty();
  }

  @Override
  public void refused(Op op, LockException e) {
    boolean mayBeRefused =
        plan.disagrees()
            || plan.faults().stream()
                .anyMatch(fault -> fault.kind() == Plan.FaultKind.SERVER_REFUSE);
    if (!mayBeRefused) {
      fail("KIND", op + " was refused: " + Failure.describe(e));
    }
  }

  @Override
  public void unavailable(Op op, LockException e) {
    // An operation that waits for a thread may be left with too little time for any store.
    // So may one that waits behind it.
    boolean late =
        !setting.virtualThreads()
            && (op.kind().isAsync()
                || (plan.hasAsyncOps()
                    && String.valueOf(e.getMessage()).contains("could not be asked in time")));
    // So may a set of many names.
    boolean hasty =
        op.kind().isOfSet()
            && op.kind().name().endsWith("TIMED")
            && op.patience() < setting.requestTimeout();
    if (!late
        && !hasty
        && plan.faults().isEmpty()
        && !plan.takesAway()
        && e instanceof LockUnavailableException
        && !String.valueOf(e.getMessage()).matches(".*(no thread was free|split vote).*")) {
      fail("WAIT-04", "the store was there, but " + Failure.describe(e));
    }
  }

  // --- clients --------------------------------------------------------------------------------

  private LockBackend backend(Machine machine, BackendContext context) throws InterruptedException {
    if (servers.get(0) instanceof QueueServer queue) {
      return new QueueBackend(machine, network, queue, context, journal, setting.sessionTimeout());
    }
    List<TtlServer> ttls = servers.stream().map(TtlServer.class::cast).toList();
    return new TtlBackend(machine, network, ttls, journal, setting.countsFromReply());
  }

  /** A machine with its programs, and the client that they share. */
  private final class Host implements Program.Clients {
    private final Machine machine;
    private final List<Program> programs = new ArrayList<>();
    private final List<SimThread> threads = new ArrayList<>();
    private final List<Observer> observers = new ArrayList<>();
    private @Nullable LockClient client;
    private int replacing;

    Host(Machine machine, List<List<Op>> plans) {
      this.machine = machine;
      for (List<Op> ops : plans) {
        programs.add(new Program(World.this, machine, this, ops));
      }
    }

    void start() {
      machine.run("opener", this::open);
      for (int i = 0; i < programs.size(); i++) {
        threads.add(machine.run("thread-" + (i + 1), programs.get(i)));
      }
    }

    private void open() {
      LockOptions.Builder builder =
          LockOptions.builder()
              .label(machine.name())
              .ttl(Duration.ofNanos(setting.ttl()))
              .requestTimeout(Duration.ofNanos(setting.requestTimeout()));
      if (setting.maxHold() > 0) {
        builder.maxHold(Duration.ofNanos(setting.maxHold()));
      }
      LockOptions options = builder.build();
      while (client == null) {
        try {
          client =
              opener != null
                  ? opener.open(options, machine)
                  : ClientsWithTimeSource.using(this::backend, options, machine);
        } catch (LockException | OutOfMemoryError e) {
          journal.note(machine, "cannot open: " + e);
          machine.block(300 * MS);
        }
      }
      if (plan.hasElections()) {
        observe(client);
      }
    }

    private void observe(LockClient open) {
      try {
        for (int i = 0; i < setting.names(); i++) {
          observers.add(new Observer(World.this, machine, Plan.name(i), 0).begin(open));
        }
      } catch (IllegalStateException | OutOfMemoryError e) {
        journal.note(machine, "cannot observe: " + e);
      }
    }

    private LockBackend backend(BackendContext context) {
      try {
        return World.this.backend(machine, context);
      } catch (InterruptedException e) {
        throw new IllegalStateException("interrupted while opening", e);
      }
    }

    @Override
    public LockClient current() throws InterruptedException {
      LockClient open;
      while ((open = client) == null) {
        machine.pause(50 * MS);
      }
      return open;
    }

    @Override
    public boolean isOpen(LockClient one) {
      return client == one;
    }

    /** The client in the end; null if the machine has died. */
    @Nullable LockClient lastClient() {
      return machine.isDead() ? null : client;
    }

    boolean isDone() {
      return machine.isDead() || (replacing == 0 && programs.stream().allMatch(Program::isDone));
    }

    /** Closes the client under its programs, and opens another. */
    void replace(long after) {
      // From now on, as a stopped machine begins with it only when it resumes.
      replacing++;
      machine.run(
          "replacer",
          () -> {
            LockClient old = client;
            if (old != null) {
              client = null;
              close(old);
              machine.block(after);
              open();
            }
            replacing--;
          });
    }

    /**
     * Closes a client that has many locks. The store works, but slowly: releasing them one after
     * the other would take longer than a client may take to close.
     */
    void closeWithManyLocks(LockClient last) {
      // A release takes a twentieth of a request time-out: on a session two round trips.
      int paths = plan.store() == Plan.Store.QUEUE ? 4 : 2;
      long extra = setting.requestTimeout() / 20 / paths - setting.delay();
      int count = extra < 0 || plan.store() == Plan.Store.MEMORY ? 0 : setting.locksAtClose();
      String prefix = machine.name() + "'s ";
      List<Lease> leases = new ArrayList<>();
      try {
        for (int i = 0; i < count; i++) {
          leases.add(
              last.lock(prefix + i, options -> options.label(null).maxHold(null))
                  .tryAcquire()
                  .orElseThrow());
        }
      } catch (LockException e) {
        fail("WAIT-04", "the store was there, but " + Failure.describe(e));
      }
      long held = leases.stream().filter(Lease::isHeld).count();
      if (count > 0) {
        network.slow(extra, true, SLOW_CLOSE * setting.requestTimeout());
      }
      close(last);
      // A minority of servers may still be releasing.
      long left =
          left().stream()
              .filter(lock -> lock.startsWith(prefix))
              .collect(Collectors.groupingBy(lock -> lock, Collectors.counting()))
              .values()
              .stream()
              .filter(places -> places > servers.size() / 2)
              .count();
      if (left > 0) {
        fail("REL-05", left + " of " + held + " locks of a client that was closed are still held");
      }
    }

    void end() {
      try {
        if (client != null) {
          client.close();
        }
      } catch (SimThread.Killed e) {
        // It has begun, which is enough.
      }
    }

    void close(LockClient old) {
      long from = now();
      List<Observer> closing = List.copyOf(observers);
      observers.clear();
      journal.closing(machine);
      old.close();
      closing.forEach(Observer::close);
      journal.note(machine, "closed");
      long shortage = machine.shortOfThreads(from, now());
      // Without threads a closed client's listeners are called by the one that closes it.
      long listeners = shortage == 0 ? 0 : MOST_LISTENING;
      long bound = 2 * setting.requestTimeout() + shortage + listeners;
      machine.requireInTime("REL-05", "close()", from, bound);
    }
  }

  // --- the run --------------------------------------------------------------------------------

  private void order() {
    try {
      for (int i = 0; i < machines.size(); i++) {
        Host host = new Host(machines.get(i), plan.programs().get(i));
        hosts.add(host);
        host.start();
      }
      long start = now();
      for (PlannedFault fault : plan.faults()) {
        scheduler.at(start + fault.at(), () -> inject(fault));
      }
      awaitPrograms(start);
      healMachines();
      checkThatAllAreServed();
      for (Host host : hosts) {
        if (!host.machine.isDead()) {
          runOn(host.machine, "observer", MS, () -> host.observers.forEach(Observer::close));
        }
      }
      checkThatNothingIsLeft();
      for (Host host : hosts) {
        LockClient client = host.lastClient();
        if (client != null) {
          runOn(host.machine, "closer", 100 * MS, () -> host.closeWithManyLocks(client));
          if (setting.locksAtClose() > 0) {
            observer.pause(SLOW_CLOSE * setting.requestTimeout());
          }
        }
      }
      journal.end();
      awaitThreads();
      // A single unanswered request must not cost a lease.
      boolean calm = plan.faults().isEmpty() || setting.silent();
      journal.check(setting.outside(), calm && !plan.takesAway());
      scheduler.finish();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Waits until a condition holds, or the limit has passed. */
  private void await(long step, long limit, BooleanSupplier condition, Runnable otherwise)
      throws InterruptedException {
    long until = now() + limit;
    while (!condition.getAsBoolean()) {
      if (now() > until) {
        otherwise.run();
        return;
      }
      observer.pause(step);
    }
  }

  /** Runs a task on a machine, and waits until it has ended. */
  private void runOn(Machine machine, String thread, long step, Runnable task)
      throws InterruptedException {
    SimThread started = machine.run(thread, task);
    while (started.state != SimThread.State.ENDED) {
      observer.pause(step);
    }
  }

  private void awaitPrograms(long start) throws InterruptedException {
    long healed =
        start + plan.faults().stream().mapToLong(f -> f.at() + f.lasting()).max().orElse(0);
    // Long enough even if every operation has to wait for all others.
    long each = 4 * setting.ttl() + setting.sessionTimeout();
    long limit = healed - start + plan.operations() * each + TimeUnit.MINUTES.toNanos(1);
    await(
        500 * MS,
        limit,
        () -> hosts.stream().allMatch(Host::isDone),
        () -> fail("WAIT-05", "programs are stuck: " + stuck()));
    while (now() < healed) {
      observer.pause(Math.max(MS, healed - now()));
    }
  }

  private void healMachines() throws InterruptedException {
    for (Machine machine : machines) {
      machine.stopAtRandom(0, 1);
      while (!machine.isDead() && (!machine.runs() || machine.isStoppedInside())) {
        observer.pause(100 * MS);
      }
    }
    while (hosts.stream().anyMatch(host -> host.replacing > 0 && !host.machine.isDead())) {
      observer.pause(100 * MS);
    }
  }

  private String stuck() {
    String text = "";
    for (Host host : hosts) {
      for (Program program : host.programs) {
        Op op = program.current();
        text += op == null ? "" : "\n    " + host.machine.name() + ": " + op;
      }
    }
    return text + scheduler.threadsAlive();
  }

  /**
   * Checks that every lock can be acquired, after those that were dropped or left by a dead machine
   * have expired, and that observers learn of it.
   */
  private void checkThatAllAreServed() throws InterruptedException {
    long patience = 3 * setting.ttl() + 3 * setting.sessionTimeout() + 6 * setting.requestTimeout();
    for (Host host : hosts) {
      LockClient client = host.lastClient();
      if (client == null) {
        continue;
      }
      for (int i = 0; i < setting.names(); i++) {
        String name = Plan.name(i);
        Acquirable<? extends Lease> whole = whole(client, name, setting.uses().get(i));
        Machine machine = host.machine;
        runOn(machine, "last", 20 * MS, () -> requireServed(machine, name, whole, patience));
      }
    }
  }

  /** What excludes every other holder of a name. */
  private static Acquirable<? extends Lease> whole(LockClient client, String name, Share use) {
    return switch (use.kind()) {
      case EXCLUSIVE -> client.lock(name, options -> options.maxHold(null));
      case READ_WRITE -> client.readWriteLock(name).writeLock();
      case SEMAPHORE -> client.semaphore(name, use.capacity()).permits(use.capacity());
    };
  }

  private void requireServed(
      Machine machine, String name, Acquirable<? extends Lease> whole, long patience) {
    long until = now() + patience;
    while (true) {
      try {
        Optional<? extends Lease> acquired = whole.tryAcquire(Duration.ofNanos(patience));
        if (acquired.isEmpty()) {
          fail("WAIT-05", "\"" + name + "\" was never freed: " + left());
        } else {
          requireReported(machine, name, acquired.get().fencingToken(), now() + patience);
          acquired.get().close();
          requireReported(machine, name, 0, now() + patience);
        }
        return;
      } catch (LockConfigurationException e) {
        // What was dropped or left by a dead machine may be of another kind.
        if (now() - until > 0 || !plan.disagrees()) {
          fail("WAIT-05", "\"" + name + "\" is refused at the end: " + Failure.describe(e));
          return;
        }
        machine.block(100 * MS);
      } catch (InterruptedException | LockException e) {
        fail("WAIT-05", "\"" + name + "\" cannot be acquired at the end: " + Failure.describe(e));
        return;
      }
    }
  }

  /** Waits until all observers know the leader with this token; 0 for none. */
  private void requireReported(Machine machine, String name, long token, long until)
      throws InterruptedException {
    for (Host host : hosts) {
      for (Observer observer : List.copyOf(host.observers)) {
        while (!observer.knows(name, token) && !host.machine.isDead()) {
          if (now() - until > 0) {
            fail(
                "ELECT-03",
                "a listener did not learn that the leader's token is " + token + ": " + observer);
            return;
          }
          machine.pause(100 * MS);
        }
      }
    }
  }

  private List<String> left() {
    return servers.stream().flatMap(server -> server.held().stream()).toList();
  }

  private void checkThatNothingIsLeft() throws InterruptedException {
    await(
        250 * MS,
        3 * setting.ttl()
            + 2 * setting.sessionTimeout()
            + 8 * setting.requestTimeout()
            + 5_000 * MS,
        () -> residue().isEmpty() && left().isEmpty(),
        () -> fail("REL-03", "in the end " + residue() + "on the store: " + left()));
  }

  private String residue() {
    String residue = "";
    for (Host host : hosts) {
      LockClient client = host.lastClient();
      if (client != null) {
        // This must not wait for a monitor that a stopped thread holds.
        String kept = host.machine.isStoppedInside() ? "what it holds" : Residue.of(client);
        residue += kept.isEmpty() ? "" : host.machine.name() + " keeps " + kept + "; ";
      }
    }
    return residue;
  }

  private void awaitThreads() throws InterruptedException {
    long listeners = TimeUnit.MINUTES.toNanos(1); // they may block
    await(
        250 * MS,
        4 * setting.requestTimeout() + setting.sessionTimeout() + listeners,
        () ->
            scheduler.alive().stream()
                .allMatch(thread -> thread.machine == observer || thread.machine.isDead()),
        () ->
            fail(
                "REL-05",
                "threads go on after their client was closed: " + scheduler.threadsAlive()));
  }

  /** A candidate survives any error; only the end of its client ends it. */
  private void endCandidacies() {
    new SimThread(observer, scheduler.nextThreadNumber(), "end", () -> hosts.forEach(Host::end)) {
      @Override
      public boolean runsAtTheEnd() {
        return true;
      }
    }.start();
  }

  // --- faults ---------------------------------------------------------------------------------

  private void inject(PlannedFault fault) {
    Machine machine = machines.get(fault.client());
    Host host = hosts.get(fault.client());
    if (machine.isDead()) {
      return;
    }
    long lasting = fault.lasting();
    String where = servers.size() > 1 ? ", " + servers.get(fault.server()).name : "";
    journal.note(machine, "*** " + fault.kind() + " for " + lasting / MS + " ms" + where);
    switch (fault.kind()) {
      case STOP -> machine.stop(lasting);
      case STOPS -> {
        machine.stopAtRandom(0.01, lasting);
        scheduler.after(10 * lasting, () -> machine.stopAtRandom(0, 1));
      }
      case SLEEP -> machine.sleep(lasting);
      case NAPS -> {
        long nap = lasting * 2 / 25;
        for (int i = 0; i < 7; i++) {
          // Between the naps the session gets heartbeats.
          scheduler.after(i * lasting * 3 / 20, () -> machine.sleep(nap));
        }
      }
      case LATE -> machine.beLate(lasting);
      case DIE -> {
        machine.die();
        network.disconnect(machine, servers);
      }
      case NO_THREADS -> {
        machine.refuseThreads(true);
        scheduler.after(lasting, () -> machine.refuseThreads(false));
      }
      case CLOSE -> {
        if (lasting % 3 == 0) {
          hosts.forEach(one -> one.replace(lasting));
        } else {
          host.replace(lasting);
        }
      }
      case INTERRUPT -> {
        SimThread thread = host.threads.get(fault.thread());
        if (thread.state != SimThread.State.ENDED) {
          interrupt(machine, thread, host.programs.get(fault.thread()));
        }
      }
      default -> inject(fault.kind(), lasting, machine, servers.get(fault.server()));
    }
  }

  /** Interrupts a thread of a program, and checks that it does not wait on. */
  private void interrupt(Machine machine, SimThread thread, Program program) {
    thread.interrupt();
    int waiting = program.waiting();
    long bound = 2 * setting.requestTimeout() + Machine.TOLERANCE;
    long from = now();
    scheduler.after(
        bound,
        () -> {
          if (waiting != 0
              && program.waiting() == waiting
              && machine.lateness(from, now()) >= bound
              && machine.runs()
              && !machine.isStoppedInside()) {
            fail("WAIT-07", thread.getName() + " waits on, though it was interrupted" + stuck());
          }
        });
  }

  private void inject(Plan.FaultKind kind, long lasting, Machine machine, Server server) {
    switch (kind) {
      case CUT -> network.cut(machine, server, lasting);
      case FALL_SILENT -> network.fallSilent(machine, server);
      case HOLD_REQUESTS -> network.hold(machine, server, true, false, lasting);
      case HOLD_REPLIES -> network.hold(machine, server, false, true, lasting);
      case SILENCE -> network.hold(machine, server, true, true, lasting);
      case SLOW -> {
        // Some requests take too long, or all take almost too long.
        boolean steady = lasting % 2 == 0;
        long most = setting.requestTimeout() / (server instanceof QueueServer ? 4 : 2);
        network.slow(steady ? most - most / 8 : most, steady, lasting);
      }
      case SERVER_STOP -> server.stop(lasting);
      case SERVER_RESTART -> server.restart(lasting, false);
      case SERVER_EMPTY -> server.restart(lasting, true);
      case SERVER_REFUSE -> server.refuse(lasting);
      case LEADER -> {
        if (server instanceof QueueServer queue) {
          queue.loseLeader(lasting);
        }
      }
      default -> throw new IllegalStateException(kind + " does not hit a server");
    }
  }
}
