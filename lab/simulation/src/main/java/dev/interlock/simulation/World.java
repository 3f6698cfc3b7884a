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
import dev.interlock.simulation.oracle.Journal;
import dev.interlock.simulation.oracle.ObservedLease;
import dev.interlock.simulation.workload.Observer;
import dev.interlock.simulation.workload.Plan;
import dev.interlock.simulation.workload.Plan.Op;
import dev.interlock.simulation.workload.Plan.PlannedFault;
import dev.interlock.simulation.workload.Program;
import dev.interlock.simulation.workload.ProgramContext;
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

/** Builds the world of a plan, runs it, and checks the outcome. */
final class World implements ProgramContext {

  private static final long MS = 1_000_000;
  private static final long SLOW_CLOSE_IN_REQUEST_TIMEOUTS = 3;
  private static final long MAX_LISTENER_TIME = TimeUnit.MINUTES.toNanos(1);
  private static final long MAX_WORLD_TIME = TimeUnit.MINUTES.toNanos(40);

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
  private final long startedAt;

  private World(Plan plan, @Nullable ClientOpener opener, boolean traced) {
    this.plan = plan;
    this.setting = plan.setting();
    this.opener = opener;
    SplittableRandom random = new SplittableRandom(plan.seed());
    this.scheduler = new Scheduler(random.split(), MAX_WORLD_TIME);
    this.startedAt = scheduler.now();
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
      // All clients of the memory backend must read the same clock.
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

  /** Runs the world of a plan, on model stores if there is no opener. */
  static Result run(Plan plan, @Nullable ClientOpener opener, boolean traced) {
    World world = new World(plan, opener, traced);
    if (plan.hasElections()) {
      world.scheduler.atTheEnd(world::endCandidacies);
    }
    world.observer.run("order", world::orchestrate);
    world.scheduler.run();
    return new Result(
        world.scheduler.failure(),
        world.scheduler.fingerprint(),
        world.scheduler.steps(),
        world.journal.leases(),
        world.scheduler.now() - world.startedAt,
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

  /** {@return the time until which the store keeps a lease without renewal; NEVER if unknown} */
  private long keptUntil(ObservedLease lease) {
    if (servers.size() != 1 || lease.token == 0) {
      return Journal.NEVER;
    }
    long until = servers.get(0).keptUntil(lease.name, lease.token / Grant.LEASES_PER_GRANT);
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
  public boolean isStoreAvailable() {
    return servers.isEmpty() || plan.faults().isEmpty();
  }

  @Override
  public void checkRefusal(Op op, LockException e) {
    boolean mayBeRefused =
        plan.disagrees()
            || plan.faults().stream()
                .anyMatch(fault -> fault.kind() == Plan.FaultKind.SERVER_REFUSE);
    if (!mayBeRefused) {
      fail("KIND", op + " was refused: " + Failure.describe(e));
    }
  }

  @Override
  public void checkUnavailability(Op op, LockException e) {
    // An operation that waits for a thread, or behind another that does, may have too little time
    // left for any store.
    boolean mayLackThread =
        !setting.virtualThreads()
            && (op.kind().isAsync()
                || (plan.hasAsyncOps()
                    && String.valueOf(e.getMessage()).contains("could not be asked in time")));
    // A set of many names may have too little time as well.
    boolean mayLackTime =
        op.kind().isOfSet()
            && op.kind().name().endsWith("TIMED")
            && op.timeout() < setting.requestTimeout();
    if (!mayLackThread
        && !mayLackTime
        && plan.faults().isEmpty()
        && !plan.takesAway()
        && e instanceof LockUnavailableException
        && !String.valueOf(e.getMessage()).matches(".*(no thread was free|split vote).*")) {
      fail("WAIT-04", "the store was available, but " + Failure.describe(e));
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

  /** A machine, its programs, and the client that they share. */
  private final class Host implements Program.Clients {
    private final Machine machine;
    private final List<Program> programs = new ArrayList<>();
    private final List<SimThread> threads = new ArrayList<>();
    private final List<Observer> observers = new ArrayList<>();
    private @Nullable LockClient client;
    private int replacements;

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
    public boolean isOpen(LockClient other) {
      return client == other;
    }

    /** {@return the last client; null if the machine has died} */
    @Nullable LockClient lastClient() {
      return machine.isDead() ? null : client;
    }

    boolean isDone() {
      return machine.isDead() || (replacements == 0 && programs.stream().allMatch(Program::isDone));
    }

    /** Closes the client while programs use it, and opens another. */
    void replace(long after) {
      // Counted from now on, because a stopped machine runs the task only when it resumes.
      replacements++;
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
            replacements--;
          });
    }

    /**
     * Closes a client that has many locks. The store is so slow that releasing them one after the
     * other would take longer than a client may take to close.
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
        fail("WAIT-04", "the store was available, but " + Failure.describe(e));
      }
      long heldAtFirst = leases.stream().filter(Lease::isHeld).count();
      if (count > 0) {
        network.slow(extra, true, SLOW_CLOSE_IN_REQUEST_TIMEOUTS * setting.requestTimeout());
      }
      close(last);
      // A minority of servers may still be releasing.
      long remaining =
          remainingLocks().stream()
              .filter(lock -> lock.startsWith(prefix))
              .collect(Collectors.groupingBy(lock -> lock, Collectors.counting()))
              .values()
              .stream()
              .filter(places -> places > servers.size() / 2)
              .count();
      if (remaining > 0) {
        fail(
            "REL-05",
            remaining + " of " + heldAtFirst + " locks of a client that was closed are still held");
      }
    }

    void end() {
      try {
        if (client != null) {
          client.close();
        }
      } catch (SimThread.Killed e) {
        // It is enough if the close has begun: its thread may be killed before it ends.
      }
    }

    void close(LockClient old) {
      long from = now();
      List<Observer> closingObservers = List.copyOf(observers);
      observers.clear();
      journal.recordClosing(machine);
      old.close();
      closingObservers.forEach(Observer::close);
      journal.note(machine, "closed");
      long shortage = machine.threadShortage(from, now());
      // Without threads, the caller of close() also calls the listeners.
      long listeners = shortage == 0 ? 0 : MAX_LISTENER_TIME;
      long bound = 2 * setting.requestTimeout() + shortage + listeners;
      machine.requireInTime("REL-05", "close()", from, bound);
    }
  }

  // --- the run --------------------------------------------------------------------------------

  private void orchestrate() {
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
      checkService();
      for (Host host : hosts) {
        if (!host.machine.isDead()) {
          runOn(host.machine, "observer", MS, () -> host.observers.forEach(Observer::close));
        }
      }
      checkResidue();
      for (Host host : hosts) {
        LockClient client = host.lastClient();
        if (client != null) {
          runOn(host.machine, "closer", 100 * MS, () -> host.closeWithManyLocks(client));
          if (setting.locksAtClose() > 0) {
            observer.pause(SLOW_CLOSE_IN_REQUEST_TIMEOUTS * setting.requestTimeout());
          }
        }
      }
      journal.end();
      awaitThreads();
      // A single request without an answer must not cost a lease.
      boolean undisturbed = plan.faults().isEmpty() || setting.silent();
      journal.check(setting.outside(), undisturbed && !plan.takesAway());
      scheduler.finish();
    } catch (InterruptedException e) {
      throw new IllegalStateException("interrupted", e);
    }
  }

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
        start + plan.faults().stream().mapToLong(f -> f.at() + f.duration()).max().orElse(0);
    // The limit suffices even if every operation has to wait for all others.
    long each = 4 * setting.ttl() + setting.sessionTimeout();
    long limit = healed - start + plan.operations() * each + TimeUnit.MINUTES.toNanos(1);
    await(
        500 * MS,
        limit,
        () -> hosts.stream().allMatch(Host::isDone),
        () -> fail("WAIT-05", "programs are stuck: " + describeStuckPrograms()));
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
    while (hosts.stream().anyMatch(host -> host.replacements > 0 && !host.machine.isDead())) {
      observer.pause(100 * MS);
    }
  }

  private String describeStuckPrograms() {
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
   * Checks that every lock can be acquired once abandoned leases and those of dead machines have
   * expired, and that each election calls its observers with the new leader.
   */
  private void checkService() throws InterruptedException {
    long limit = 3 * setting.ttl() + 3 * setting.sessionTimeout() + 6 * setting.requestTimeout();
    for (Host host : hosts) {
      LockClient client = host.lastClient();
      if (client == null) {
        continue;
      }
      for (int i = 0; i < setting.names(); i++) {
        String name = Plan.name(i);
        Acquirable<? extends Lease> whole = wholeOf(client, name, setting.uses().get(i));
        Machine machine = host.machine;
        runOn(machine, "last", 20 * MS, () -> requireServed(machine, name, whole, limit));
      }
    }
  }

  /** {@return the lock or permits that exclude every other holder of the name} */
  private static Acquirable<? extends Lease> wholeOf(LockClient client, String name, Share use) {
    return switch (use.kind()) {
      case EXCLUSIVE -> client.lock(name, options -> options.maxHold(null));
      case READ_WRITE -> client.readWriteLock(name).writeLock();
      case SEMAPHORE -> client.semaphore(name, use.capacity()).permits(use.capacity());
    };
  }

  private void requireServed(
      Machine machine, String name, Acquirable<? extends Lease> whole, long limit) {
    long until = now() + limit;
    while (true) {
      try {
        Optional<? extends Lease> acquired = whole.tryAcquire(Duration.ofNanos(limit));
        if (acquired.isEmpty()) {
          fail("WAIT-05", "\"" + name + "\" was never freed: " + remainingLocks());
        } else {
          requireReported(machine, name, acquired.get().fencingToken(), now() + limit);
          acquired.get().close();
          requireReported(machine, name, 0, now() + limit);
        }
        return;
      } catch (LockConfigurationException e) {
        // An abandoned lease, or one of a dead machine, may be of another kind.
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
        while (!observer.isInformedOf(name, token) && !host.machine.isDead()) {
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

  private List<String> remainingLocks() {
    return servers.stream().flatMap(server -> server.locks().stream()).toList();
  }

  private void checkResidue() throws InterruptedException {
    await(
        250 * MS,
        3 * setting.ttl()
            + 2 * setting.sessionTimeout()
            + 8 * setting.requestTimeout()
            + 5_000 * MS,
        () -> residue().isEmpty() && remainingLocks().isEmpty(),
        () -> fail("REL-03", "in the end " + residue() + "on the store: " + remainingLocks()));
  }

  private String residue() {
    String residue = "";
    for (Host host : hosts) {
      LockClient client = host.lastClient();
      if (client != null) {
        // Looking for residue must not wait for a monitor that a stopped thread holds.
        String residueOfClient =
            host.machine.isStoppedInside() ? "what it holds" : Residue.of(client);
        residue +=
            residueOfClient.isEmpty()
                ? ""
                : host.machine.name() + " keeps " + residueOfClient + "; ";
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

  /** Closes the clients, because a candidate survives any error and ends only with its client. */
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
    long duration = fault.duration();
    String where = servers.size() > 1 ? ", " + servers.get(fault.server()).name : "";
    journal.note(machine, "*** " + fault.kind() + " for " + duration / MS + " ms" + where);
    switch (fault.kind()) {
      case STOP -> machine.stop(duration);
      case RANDOM_STOPS -> {
        machine.stopAtRandom(0.01, duration);
        scheduler.after(10 * duration, () -> machine.stopAtRandom(0, 1));
      }
      case SLEEP -> machine.sleep(duration);
      case SHORT_SLEEPS -> {
        long nap = duration * 2 / 25;
        for (int i = 0; i < 7; i++) {
          // Between the sleeps the session gets heartbeats.
          scheduler.after(i * duration * 3 / 20, () -> machine.sleep(nap));
        }
      }
      case LATE_GRANTS -> machine.delayGrants(duration);
      case DIE -> {
        machine.die();
        network.disconnect(machine, servers);
      }
      case NO_THREADS -> {
        machine.refuseThreads(true);
        scheduler.after(duration, () -> machine.refuseThreads(false));
      }
      case CLOSE -> {
        if (duration % 3 == 0) {
          hosts.forEach(each -> each.replace(duration));
        } else {
          host.replace(duration);
        }
      }
      case INTERRUPT -> {
        SimThread thread = host.threads.get(fault.thread());
        if (thread.state != SimThread.State.ENDED) {
          interrupt(machine, thread, host.programs.get(fault.thread()));
        }
      }
      default -> inject(fault.kind(), duration, machine, servers.get(fault.server()));
    }
  }

  /** Interrupts a thread of a program, and checks that it stops waiting. */
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
            fail(
                "WAIT-07",
                thread.getName() + " still waits after an interrupt" + describeStuckPrograms());
          }
        });
  }

  private void inject(Plan.FaultKind kind, long duration, Machine machine, Server server) {
    switch (kind) {
      case CUT -> network.cut(machine, server, duration);
      case FALL_SILENT -> network.fallSilent(machine, server);
      case HOLD_REQUESTS -> network.hold(machine, server, true, false, duration);
      case HOLD_REPLIES -> network.hold(machine, server, false, true, duration);
      case SILENCE -> network.hold(machine, server, true, true, duration);
      case SLOW -> {
        // Either some requests take too long, or all take almost too long.
        boolean steady = duration % 2 == 0;
        long maxExtra = setting.requestTimeout() / (server instanceof QueueServer ? 4 : 2);
        network.slow(steady ? maxExtra - maxExtra / 8 : maxExtra, steady, duration);
      }
      case SERVER_STOP -> server.stop(duration);
      case SERVER_RESTART -> server.restart(duration, false);
      case SERVER_EMPTY -> server.restart(duration, true);
      case SERVER_REFUSE -> server.refuse(duration);
      case LEADER -> {
        if (server instanceof QueueServer queue) {
          queue.loseLeader(duration);
        }
      }
      default -> throw new IllegalStateException(kind + " is not a fault of a server");
    }
  }
}
