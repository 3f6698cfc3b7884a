package dev.interlock.simulation.workload;

import dev.interlock.LockKind;
import dev.interlock.simulation.oracle.Held;
import dev.interlock.spi.Share;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The operations and faults of a world. Made from a seed; parts can be left out to find what a
 * failure needs.
 */
public record Plan(
    long seed,
    Store store,
    Setting setting,
    List<List<List<Op>>> programs, // by client, then thread
    List<PlannedFault> faults) {

  private boolean has(Predicate<Op> property) {
    return programs.stream().flatMap(List::stream).flatMap(List::stream).anyMatch(property);
  }

  public boolean hasAsyncOps() {
    return has(op -> op.kind().isAsync());
  }

  /** The store of the locks. */
  public enum Store {
    QUEUE,
    TTL,
    MAJORITY,
    /** The memory backend of lock-api; for the mutants of the kit. */
    MEMORY
  }

  /**
   * Durations in nanoseconds.
   *
   * @param uses what each name is used as, by its smallest share
   * @param outside whether there are faults outside of the failure model
   * @param queueing whether each client has single waiters, whose order is checked
   * @param inTurns whether each client has one thread and there are no faults, so that it is
   *     checked how long readers and writers wait for each other
   * @param silent whether the only faults are connections that fall silent
   * @param countsFromReply whether the backend counts validity from the reply, so that the client
   *     has to correct it
   * @param maxHold the maximum hold time of locks without options; 0 if there is none
   * @param locksAtClose how many locks each client holds when it is closed at the end
   */
  public record Setting(
      List<Share> uses,
      long ttl,
      long requestTimeout,
      long sessionTimeout,
      long delay,
      boolean virtualThreads,
      int pool,
      boolean outside,
      boolean queueing,
      boolean inTurns,
      boolean silent,
      boolean countsFromReply,
      long maxHold,
      int locksAtClose,
      long length) {

    public int names() {
      return uses.size();
    }

    Setting with(List<Share> otherUses, boolean queues, boolean takesTurns) {
      return new Setting(
          otherUses,
          ttl,
          requestTimeout,
          sessionTimeout,
          delay,
          virtualThreads,
          pool,
          outside,
          queues,
          takesTurns,
          silent,
          countsFromReply,
          maxHold,
          locksAtClose,
          length);
    }

    /** The names of exclusive locks, of which sets consist. */
    List<String> namesOfLocks() {
      return IntStream.range(0, uses.size())
          .filter(i -> uses.get(i).isExclusive())
          .mapToObj(Plan::name)
          .toList();
    }
  }

  /** An operation: a way to acquire a lock, or something else. */
  public enum Kind {
    ACQUIRE,
    TRY,
    TIMED,
    ASYNC,
    ASYNC_TIMED,
    VIEW,
    VIEW_TRY,
    VIEW_TIMED,
    SET,
    SET_TRY,
    SET_TIMED,
    SET_ASYNC,
    SET_ASYNC_TIMED,
    INSPECT,
    REVOKE,
    FORCE,
    /** Many futures for one name at once. */
    CROWD,
    CAMPAIGN,
    CAMPAIGN_TIMED,
    CAMPAIGN_ASYNC,
    /** A candidacy, until its work has been called several times. */
    STAND,
    OBSERVE;

    public boolean isOfSet() {
      return name().startsWith("SET");
    }

    boolean isView() {
      return name().startsWith("VIEW");
    }

    boolean isCampaign() {
      return name().startsWith("CAMPAIGN");
    }

    public boolean isAsync() {
      return name().contains("ASYNC");
    }

    /** How it acquires what it acquires, be that a lock, a view of a lock, or a set of locks. */
    Kind way() {
      return switch (this) {
        case VIEW, SET, CAMPAIGN -> ACQUIRE;
        case VIEW_TRY, SET_TRY -> TRY;
        case VIEW_TIMED, SET_TIMED, CAMPAIGN_TIMED -> TIMED;
        case SET_ASYNC, CAMPAIGN_ASYNC -> ASYNC;
        case SET_ASYNC_TIMED -> ASYNC_TIMED;
        default -> this;
      };
    }
  }

  /** How the program ends a pending future. */
  enum Treatment {
    AWAIT,
    CANCEL,
    TIME_OUT,
    COMPLETE,
    FAIL
  }

  /** How a lease is released. */
  enum Ending {
    RELEASE,
    ELSEWHERE,
    TWICE,
    FORGET
  }

  /** How a lease is kept. */
  enum Keeping {
    RENEWED,
    FIXED,
    /** Not renewed, and with a shorter TTL than others. */
    BRIEF,
    MAX_HOLD,
    MIN_HOLD,
    IMPATIENT,
    /** By the options of the client. */
    DEFAULT
  }

  /** One thing that a thread does. */
  public record Op(
      Kind kind,
      int name,
      Share share,
      Keeping keeping,
      Treatment treatment,
      Ending ending,
      long patience,
      long hold,
      boolean renews,
      boolean looks, // whether it checks the lease, or waits for the signal of its loss
      int listener, // 1 throws, 2 blocks
      boolean again, // tries to acquire again what it holds, or works on when it has lost it
      long pause) {
    /**
     * The same as a wait of the program's thread, which has released the name before it waits for
     * it again.
     *
     * @param often whether it soon does
     */
    Op inOrder(boolean often) {
      Kind wait = kind == Kind.ACQUIRE || kind.isAsync() ? Kind.ACQUIRE : Kind.TIMED;
      long rest = often ? Math.min(pause, 50 * MS) : pause;
      return with(wait, name, share, Keeping.RENEWED, Ending.RELEASE, hold, false, rest);
    }

    private Op with(
        Kind newKind,
        int newName,
        Share newShare,
        Keeping newKeeping,
        Ending newEnding,
        long newHold,
        boolean newAgain,
        long newPause) {
      return new Op(
          newKind,
          newName,
          newShare,
          newKeeping,
          treatment,
          newEnding,
          patience,
          newHold,
          renews,
          looks,
          listener,
          newAgain,
          newPause);
    }

    /**
     * The same on a name of some kind.
     *
     * @param uses what the names are used as
     * @param oneInHeavy one in so many is a writer, or takes several permits
     * @param disagrees whether some use names as what they are not
     * @param ordered whether the order of waiters is checked, so that leases only end by a release
     */
    Op withShare(
        List<Share> uses,
        int oneInHeavy,
        boolean disagrees,
        boolean ordered,
        long ttl,
        SplittableRandom random) {
      int which = name % uses.size();
      Share use = uses.get(which);
      if (disagrees && random.nextInt(40) == 0) {
        use = uses.get(random.nextInt(uses.size()));
        use = use.isExclusive() ? Share.READ : Share.EXCLUSIVE;
      }
      boolean heavy = random.nextInt(oneInHeavy) == 0;
      Share share =
          switch (use.kind()) {
            case EXCLUSIVE -> use;
            case READ_WRITE -> heavy ? Share.WRITE : Share.READ;
            case SEMAPHORE ->
                Share.ofSemaphore(heavy ? 1 + random.nextInt(use.capacity()) : 1, use.capacity());
          };
      boolean ofSet = kind.isOfSet() && uses.stream().anyMatch(Share::isExclusive);
      boolean noView = kind.isView() && share.kind() == LockKind.SEMAPHORE;
      // Others may have a part in what a reader or a permit is granted, so it may end in any way.
      Keeping other = random.nextBoolean() ? Keeping.MAX_HOLD : Keeping.BRIEF;
      boolean changed = !share.isWhole() && keeping == Keeping.RENEWED && random.nextInt(5) == 0;
      boolean lasting = !share.isWhole() && !kind.isOfSet() && random.nextInt(6) == 0;
      boolean twice = share.kind() == LockKind.SEMAPHORE && !ordered && random.nextInt(6) == 0;
      return with(
          (kind.isOfSet() && !ofSet) || noView ? kind.way() : kind,
          which,
          ofSet ? uses.get(which) : share,
          changed && !ordered ? other : keeping,
          twice ? Ending.TWICE : ending,
          lasting ? upTo(random, 2 * ttl) : hold,
          again,
          pause);
    }

    /** The same, or in its place a campaign, a candidacy or an observer. */
    Op withElection(long ttl, SplittableRandom random) {
      boolean campaigns = random.nextBoolean() && !kind.isOfSet() && !kind.isView();
      Kind other =
          switch (random.nextInt(12)) {
            case 0, 1, 2 -> Kind.STAND;
            case 3 -> Kind.OBSERVE;
            default ->
                switch (campaigns ? kind : Kind.SET) {
                  case ACQUIRE -> Kind.CAMPAIGN;
                  case TIMED -> Kind.CAMPAIGN_TIMED;
                  case ASYNC -> Kind.CAMPAIGN_ASYNC;
                  default -> kind;
                };
          };
      boolean stands = other == Kind.STAND;
      boolean limited = keeping == Keeping.FIXED || keeping == Keeping.MAX_HOLD;
      Keeping kept = stands && !limited ? Keeping.RENEWED : keeping;
      long held = stands && random.nextInt(4) == 0 ? upTo(random, 2 * ttl) : hold;
      boolean more = stands ? random.nextInt(3) == 0 : again && !other.isCampaign();
      return with(other, name, share, kept, ending, held, more, pause);
    }

    @Override
    public String toString() {
      StringBuilder text = new StringBuilder(kind + " " + Plan.name(name) + " " + keeping);
      text.append(share.isExclusive() ? "" : " " + Held.use(share));
      text.append(" patience ").append(patience / 1_000_000).append(" ms, ").append(treatment);
      text.append(", hold ").append(hold / 1_000_000).append(" ms, ").append(ending);
      return text + (listener == 1 ? ", throws" : listener == 2 ? ", blocks" : "");
    }
  }

  /** Kinds of faults. */
  public enum FaultKind {
    STOP,
    STOPS,
    SLEEP,
    NAPS,
    DIE,
    NO_THREADS,
    CLOSE,
    INTERRUPT,
    CUT,
    FALL_SILENT,
    HOLD_REQUESTS,
    HOLD_REPLIES,
    SILENCE,
    SLOW,
    LATE,
    SERVER_STOP,
    SERVER_RESTART,
    SERVER_EMPTY,
    SERVER_REFUSE,
    LEADER
  }

  /** One fault and its target. */
  public record PlannedFault(
      FaultKind kind, long at, int client, int thread, int server, long lasting) {}

  public int clients() {
    return programs.size();
  }

  public int servers() {
    return switch (store) {
      case MAJORITY -> 3;
      case QUEUE, TTL -> 1;
      case MEMORY -> 0;
    };
  }

  public int operations() {
    return programs.stream().flatMap(List::stream).mapToInt(List::size).sum();
  }

  /** The name of a lock. */
  public static String name(int number) {
    return String.valueOf((char) ('a' + number));
  }

  /** Whether a name is used as two things. */
  public boolean disagrees() {
    return has(op -> !op.share().agreesWith(setting.uses.get(op.name())));
  }

  /** Whether leases are renewed by futures: in one world of eleven. */
  boolean renewsAsync() {
    return Math.floorMod(seed, 11) == 0;
  }

  /** Whether there are candidates or observers. */
  public boolean hasElections() {
    return has(op -> op.kind() == Kind.STAND || op.kind() == Kind.OBSERVE);
  }

  /** Whether locks are revoked or released by force. */
  public boolean takesAway() {
    return has(op -> op.kind() == Kind.REVOKE || op.kind() == Kind.FORCE);
  }

  private static final long MS = 1_000_000;

  /**
   * All clients of the memory backend read one clock, and call each other. So no machine sleeps,
   * and none is stopped while monitors are held.
   */
  private static final Set<FaultKind> ON_MEMORY =
      EnumSet.of(
          FaultKind.STOP,
          FaultKind.DIE,
          FaultKind.NO_THREADS,
          FaultKind.CLOSE,
          FaultKind.INTERRUPT);

  /** The plan of a seed, on one of the model stores. */
  public static Plan of(long seed) {
    return of(seed, storeOf(seed));
  }

  private static Store storeOf(long seed) {
    return Store.values()[(int) Math.floorMod(seed, 3L)];
  }

  /** The plan of a seed on the given store: of locks, of names of any kind, or with elections. */
  public static Plan of(long seed, Store store) {
    Plan ofLocks = ofLocks(seed, store);
    SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 12);
    return switch (random.nextInt(5)) {
      case 0, 1 -> ofLocks.withShares(random);
      case 2, 3 -> ofLocks.withElections(random);
      default -> ofLocks;
    };
  }

  /** The plan of a seed, with exclusive locks only. */
  public static Plan ofLocks(long seed) {
    return ofLocks(seed, storeOf(seed));
  }

  /** The same plan, with readers, writers and permits in place of some exclusive locks. */
  private Plan withShares(SplittableRandom random) {
    List<Share> uses = new ArrayList<>();
    // In some worlds all threads want one name, so that many of a client wait for it together.
    int names = random.nextInt(3) == 0 ? 1 : setting.names();
    for (int i = 0; i < names; i++) {
      boolean readWrite = store == Store.MAJORITY || random.nextBoolean();
      uses.add(
          random.nextInt(4) == 0
              ? Share.EXCLUSIVE
              : readWrite ? Share.READ : Share.ofSemaphore(1, 1 + random.nextInt(5)));
    }
    int oneInHeavy = 2 + random.nextInt(6);
    boolean inTurns =
        store == Store.TTL && faults.isEmpty() && !takesAway() && random.nextBoolean();
    boolean ordered = setting.queueing || inTurns;
    boolean disagrees = random.nextInt(4) == 0 && !ordered;
    // The order of waiters is checked only where a client has one waiter of a name.
    List<List<List<Op>>> some =
        ordered ? programs.stream().map(threads -> threads.subList(0, 1)).toList() : programs;
    List<List<List<Op>>> shared =
        changed(
            some,
            op ->
                (ordered ? op.inOrder(inTurns) : op)
                    .withShare(uses, oneInHeavy, disagrees, ordered, setting.ttl, random));
    Setting with = setting.with(uses, setting.queueing, inTurns);
    List<PlannedFault> faultsLeft =
        faults.stream().filter(fault -> fault.thread < shared.get(fault.client).size()).toList();
    return new Plan(seed, store, with, shared, faultsLeft);
  }

  /** The same plan, with candidates and observers in place of some operations. */
  private Plan withElections(SplittableRandom random) {
    List<List<List<Op>>> elections = changed(programs, op -> op.withElection(setting.ttl, random));
    // Candidates are waiters beside those of the programs.
    return new Plan(seed, store, setting.with(setting.uses, false, false), elections, faults);
  }

  private static List<List<List<Op>>> changed(
      List<List<List<Op>>> programs, UnaryOperator<Op> change) {
    List<List<List<Op>>> changed = new ArrayList<>();
    for (List<List<Op>> threads : programs) {
      changed.add(threads.stream().map(ops -> ops.stream().map(change).toList()).toList());
    }
    return changed;
  }

  /** The plan of a seed on the given store, with exclusive locks only. */
  public static Plan ofLocks(long seed, Store store) {
    SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 11);
    boolean calm = random.nextInt(6) == 0;
    // Single waiters only, some with short time-outs: locks must be granted in order of arrival.
    boolean queueing = calm && (store == Store.QUEUE || store == Store.MEMORY);
    // The model of a majority has tokens only while no lock is taken from its holder.
    // Shows the cost of a single request that is never answered.
    boolean silent = calm && store == Store.TTL && random.nextInt(3) != 0;
    boolean outside = !calm && store != Store.MAJORITY && random.nextInt(7) == 0;
    // With some TTLs a request that is not answered costs the lease.
    boolean tight = random.nextInt(silent ? 2 : 5) == 0;
    long ttl = (1_500 + random.nextInt(tight ? 1_000 : 6_500)) * MS;
    Setting setting =
        new Setting(
            Collections.nCopies(
                random.nextInt(8) == 0 ? 4 + random.nextInt(4) : 1 + random.nextInt(3),
                Share.EXCLUSIVE),
            ttl,
            (tight || random.nextInt(4) == 0 ? 2_000 : 300 + random.nextInt(1_200)) * MS,
            (3_000 + random.nextInt(5_000)) * MS,
            (100 + random.nextInt(random.nextInt(4) == 0 ? 10_000 : 1_000)) * 1_000L,
            random.nextBoolean(),
            1 + random.nextInt(5),
            outside,
            queueing,
            false,
            silent,
            random.nextInt(4) == 0,
            random.nextInt(3) == 0 ? ttl / 2 : 0,
            random.nextInt(4) == 0 ? 60 : 0,
            (60_000 + random.nextInt(120_000)) * MS);
    int clients = 2 + random.nextInt(3);
    // Some worlds mostly repeat one kind of operation, so that it races with itself.
    Kind favourite = random.nextInt(3) == 0 ? Kind.values()[random.nextInt(13)] : null;
    List<List<List<Op>>> programs = new ArrayList<>();
    for (int client = 0; client < clients; client++) {
      List<List<Op>> threads = new ArrayList<>();
      int count = 1 + random.nextInt(random.nextInt(5) == 0 ? 9 : 4);
      for (int thread = 0; thread < count; thread++) {
        List<Op> ops = new ArrayList<>();
        int length = 12 + random.nextInt(48);
        for (int i = 0; i < length; i++) {
          ops.add(op(random, setting, favourite));
        }
        threads.add(ops);
      }
      programs.add(threads);
    }
    List<PlannedFault> faults = new ArrayList<>();
    if (!calm) {
      int count = 4 + random.nextInt(20);
      for (int i = 0; i < count; i++) {
        faults.add(fault(random, setting, store, programs));
      }
    } else if (silent) {
      long pause = 2 * ttl + setting.requestTimeout;
      for (long at = upTo(random, pause); at < setting.length; at += pause + upTo(random, pause)) {
        faults.add(new PlannedFault(FaultKind.FALL_SILENT, at, random.nextInt(clients), 0, 0, 1));
      }
    } else if (queueing && store == Store.QUEUE && random.nextBoolean()) {
      for (int client = 0; client < clients; client++) {
        faults.add(naps(random, setting, client));
      }
    }
    return new Plan(seed, store, setting, programs, faults);
  }

  private static long upTo(SplittableRandom random, long most) {
    return 1 + random.nextLong(Math.max(1, most));
  }

  private static Op op(SplittableRandom random, Setting setting, @Nullable Kind favourite) {
    Kind kind = Kind.values()[random.nextInt(13)];
    if (favourite != null && random.nextInt(2) == 0) {
      kind = favourite;
    }
    if (setting.queueing) {
      kind = random.nextInt(3) == 0 ? Kind.ACQUIRE : Kind.TIMED;
    }
    int rare = random.nextInt(40);
    if (setting.queueing) {
      rare = 59;
    } else if (random.nextInt(200) == 0) {
      kind = Kind.CROWD;
      rare = 59;
    }
    if (rare == 0) {
      kind = Kind.INSPECT;
    } else if (rare == 1 && setting.names() == 1) {
      // A set that loses one name releases the others before its holder can notice.
      kind = Kind.REVOKE;
    } else if (rare <= 4 && setting.outside) {
      kind = Kind.FORCE;
    }
    int how = random.nextInt(20);
    Keeping keeping =
        how < 13 || setting.queueing
            ? Keeping.RENEWED
            : how < 16
                ? Keeping.FIXED
                : how < 17
                    ? (random.nextBoolean() ? Keeping.MAX_HOLD : Keeping.MIN_HOLD)
                    : how < 18 ? Keeping.DEFAULT : Keeping.IMPATIENT;
    Treatment treatment =
        random.nextInt(2) == 0
            ? Treatment.AWAIT
            : Treatment.values()[random.nextInt(Treatment.values().length)];
    int end = random.nextInt(30);
    Ending ending =
        end == 0
            ? Ending.FORGET
            : end < 3 && !setting.silent
                ? Ending.ELSEWHERE
                : end == 3 ? Ending.TWICE : Ending.RELEASE;
    long hold =
        switch (random.nextInt(10)) {
          case 0 -> upTo(random, 3 * setting.ttl);
          case 1, 2 -> upTo(random, 800 * MS);
          default -> upTo(random, 50 * MS);
        };
    long patience = random.nextInt(2) == 0 ? upTo(random, 400 * MS) : upTo(random, 2 * setting.ttl);
    int name = random.nextInt(setting.names());
    if (favourite != null && favourite.isOfSet() && !kind.isOfSet() && random.nextInt(2) == 0) {
      // Sets have most of their names, and wait for the last.
      name = setting.names() - 1;
      hold = upTo(random, setting.ttl);
    }
    return new Op(
        kind,
        name,
        Share.EXCLUSIVE,
        keeping,
        treatment,
        ending,
        patience,
        hold,
        random.nextInt(2) == 0 && !setting.silent,
        random.nextInt(3) != 0,
        random.nextInt(12) == 0 ? 1 + random.nextInt(2) : 0,
        random.nextInt(12) == 0 && !setting.queueing,
        upTo(random, random.nextInt(4) == 0 ? 3_000 * MS : 100 * MS));
  }

  /** Several sleeps, each shorter than the session time-out, but longer than it together. */
  private static PlannedFault naps(SplittableRandom random, Setting setting, int client) {
    return new PlannedFault(
        FaultKind.NAPS, upTo(random, setting.length), client, 0, 0, 5 * setting.sessionTimeout);
  }

  private static PlannedFault fault(
      SplittableRandom random, Setting setting, Store store, List<List<List<Op>>> programs) {
    FaultKind[] kinds = FaultKind.values();
    FaultKind kind = kinds[random.nextInt(kinds.length)];
    while ((store == Store.MEMORY && !ON_MEMORY.contains(kind))
        || (kind == FaultKind.SERVER_EMPTY && !setting.outside)
        || ((kind == FaultKind.LEADER || kind == FaultKind.LATE || kind == FaultKind.NAPS)
            && store != Store.QUEUE)
        || (kind == FaultKind.DIE && random.nextInt(3) != 0)) {
      kind = kinds[random.nextInt(kinds.length)];
    }
    int client = random.nextInt(programs.size());
    if (kind == FaultKind.NAPS) {
      return naps(random, setting, client);
    }
    long lasting =
        switch (random.nextInt(3)) {
          case 0 -> upTo(random, 200 * MS);
          case 1 -> upTo(random, 3 * setting.ttl);
          default -> upTo(random, setting.ttl);
        };
    // A client that can start no thread from the beginning on has none to fall back on.
    boolean fromTheStart = kind == FaultKind.NO_THREADS && random.nextInt(4) == 0;
    return new PlannedFault(
        kind,
        fromTheStart ? 1 : upTo(random, setting.length),
        client,
        random.nextInt(programs.get(client).size()),
        store == Store.MAJORITY ? random.nextInt(3) : 0,
        lasting);
  }
}
