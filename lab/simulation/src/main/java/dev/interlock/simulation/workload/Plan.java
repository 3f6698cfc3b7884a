package dev.interlock.simulation.workload;

import dev.interlock.LockKind;
import dev.interlock.simulation.oracle.ObservedLease;
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
 * The operations and faults of a world, made from a seed. Parts can be left out to find those that
 * a failure needs.
 */
public record Plan(
    long seed,
    Store store,
    Setting setting,
    List<List<List<Op>>> programs, // by client, then by thread
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
   * @param uses the smallest share of each name, which tells its kind
   * @param outside whether there are faults outside of the failure model
   * @param queueing whether each client has one waiter for a name, so that their order is checked
   * @param checksPrecedence whether each client has one thread and there are no faults, so that the
   *     precedence of readers and writers is checked
   * @param silent whether the only faults are connections that fall silent
   * @param countsFromReply whether the backend counts validity from the reply, which the client
   *     must correct
   * @param maxHold the maximum hold time of locks without options; 0 if there is none
   * @param locksAtClose the number of locks that each client holds when it is closed at the end
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
      boolean checksPrecedence,
      boolean silent,
      boolean countsFromReply,
      long maxHold,
      int locksAtClose,
      long length) {

    public int names() {
      return uses.size();
    }

    Setting with(List<Share> otherUses, boolean queues, boolean checksOrder) {
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
          checksOrder,
          silent,
          countsFromReply,
          maxHold,
          locksAtClose,
          length);
    }

    /** {@return the names of exclusive locks, of which sets consist} */
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

    /** {@return the kind of acquisition, without regard to views, sets and campaigns} */
    Kind basicKind() {
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

  /** The way in which the program ends a pending future, or the work of a candidate ends. */
  enum Treatment {
    AWAIT,
    CANCEL,
    TIME_OUT,
    COMPLETE,
    FAIL
  }

  /** The way in which a lease ends. */
  enum Ending {
    RELEASE,
    ELSEWHERE,
    TWICE,
    FORGET
  }

  enum LeaseOptions {
    RENEWED,
    NOT_RENEWED,
    /** Leases that are not renewed, with a shorter TTL than others. */
    SHORT_TTL,
    MAX_HOLD,
    MIN_HOLD,
    WAIT_TIMEOUT,
    /** The options of the client. */
    DEFAULT
  }

  /** An operation of a thread. */
  public record Op(
      Kind kind,
      int name,
      Share share,
      LeaseOptions options,
      Treatment treatment,
      Ending ending,
      long timeout,
      long hold,
      boolean renews,
      boolean checksValidity, // or else waits for the signal of its loss
      int listener, // 1 throws, 2 blocks
      boolean misuse, // acquires a lock that it holds, asks for 0 permits, or works on after a loss
      long pause) {
    /**
     * Returns the operation as a blocking wait, whose thread has released the name before it waits
     * for it again.
     *
     * @param often whether the thread waits again soon
     */
    Op inOrder(boolean often) {
      Kind wait = kind == Kind.ACQUIRE || kind.isAsync() ? Kind.ACQUIRE : Kind.TIMED;
      long shorterPause = often ? Math.min(pause, 50 * MS) : pause;
      return with(
          wait, name, share, LeaseOptions.RENEWED, Ending.RELEASE, hold, false, shorterPause);
    }

    private Op with(
        Kind newKind,
        int newName,
        Share newShare,
        LeaseOptions newKeeping,
        Ending newEnding,
        long newHold,
        boolean newMisuse,
        long newPause) {
      return new Op(
          newKind,
          newName,
          newShare,
          newKeeping,
          treatment,
          newEnding,
          timeout,
          newHold,
          renews,
          checksValidity,
          listener,
          newMisuse,
          newPause);
    }

    /**
     * Returns the operation with a share of its name.
     *
     * @param uses the smallest shares of the names
     * @param oneInHeavy one operation in so many is a writer, or takes several permits
     * @param disagrees whether some operations use a name as a wrong kind
     * @param ordered whether the order of waiters is checked, so that leases end only by a release
     */
    Op withShare(
        List<Share> uses,
        int oneInHeavy,
        boolean disagrees,
        boolean ordered,
        long ttl,
        SplittableRandom random) {
      int newName = name % uses.size();
      Share use = uses.get(newName);
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
      boolean isSet = kind.isOfSet() && uses.stream().anyMatch(Share::isExclusive);
      boolean isViewOfPermits = kind.isView() && share.kind() == LockKind.SEMAPHORE;
      // Other leases may share the grant of a reader or permit, so this one may end in any way.
      LeaseOptions other = random.nextBoolean() ? LeaseOptions.MAX_HOLD : LeaseOptions.SHORT_TTL;
      boolean changed =
          !share.isWhole() && options == LeaseOptions.RENEWED && random.nextInt(5) == 0;
      boolean isLong = !share.isWhole() && !kind.isOfSet() && random.nextInt(6) == 0;
      boolean twice = share.kind() == LockKind.SEMAPHORE && !ordered && random.nextInt(6) == 0;
      return with(
          (kind.isOfSet() && !isSet) || isViewOfPermits ? kind.basicKind() : kind,
          newName,
          isSet ? uses.get(newName) : share,
          changed && !ordered ? other : options,
          twice ? Ending.TWICE : ending,
          isLong ? upTo(random, 2 * ttl) : hold,
          misuse,
          pause);
    }

    /** Returns the operation, or a campaign, a candidacy or an observer in its place. */
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
      boolean isStanding = other == Kind.STAND;
      boolean limited = options == LeaseOptions.NOT_RENEWED || options == LeaseOptions.MAX_HOLD;
      LeaseOptions newOptions = isStanding && !limited ? LeaseOptions.RENEWED : options;
      long newHold = isStanding && random.nextInt(4) == 0 ? upTo(random, 2 * ttl) : hold;
      boolean newMisuse = isStanding ? random.nextInt(3) == 0 : misuse && !other.isCampaign();
      return with(other, name, share, newOptions, ending, newHold, newMisuse, pause);
    }

    @Override
    public String toString() {
      StringBuilder text = new StringBuilder(kind + " " + Plan.name(name) + " " + options);
      text.append(share.isExclusive() ? "" : " " + ObservedLease.describe(share));
      text.append(" timeout ").append(timeout / 1_000_000).append(" ms, ").append(treatment);
      text.append(", hold ").append(hold / 1_000_000).append(" ms, ").append(ending);
      return text + (listener == 1 ? ", throws" : listener == 2 ? ", blocks" : "");
    }
  }

  /** Kinds of faults. */
  public enum FaultKind {
    STOP,
    RANDOM_STOPS,
    SLEEP,
    SHORT_SLEEPS,
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
    LATE_GRANTS,
    SERVER_STOP,
    SERVER_RESTART,
    SERVER_EMPTY,
    SERVER_REFUSE,
    LEADER
  }

  /** One fault and its target. */
  public record PlannedFault(
      FaultKind kind, long at, int client, int thread, int server, long duration) {}

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

  /** {@return the name of a lock} */
  public static String name(int number) {
    return String.valueOf((char) ('a' + number));
  }

  /** {@return whether a name is used as two kinds} */
  public boolean disagrees() {
    return has(op -> !op.share().agreesWith(setting.uses.get(op.name())));
  }

  /** {@return whether leases are renewed by futures, as in one world of eleven} */
  boolean renewsAsync() {
    return Math.floorMod(seed, 11) == 0;
  }

  /** {@return whether there are candidates or observers} */
  public boolean hasElections() {
    return has(op -> op.kind() == Kind.STAND || op.kind() == Kind.OBSERVE);
  }

  /** {@return whether locks are revoked or released by force} */
  public boolean takesAway() {
    return has(op -> op.kind() == Kind.REVOKE || op.kind() == Kind.FORCE);
  }

  private static final long MS = 1_000_000;

  /**
   * The faults of worlds on the memory backend. Its clients read one clock and call each other, so
   * no machine sleeps, and none is stopped while it holds monitors.
   */
  private static final Set<FaultKind> ON_MEMORY =
      EnumSet.of(
          FaultKind.STOP,
          FaultKind.DIE,
          FaultKind.NO_THREADS,
          FaultKind.CLOSE,
          FaultKind.INTERRUPT);

  /** Creates the plan of a seed, on one of the model stores. */
  public static Plan of(long seed) {
    return of(seed, storeOf(seed));
  }

  private static Store storeOf(long seed) {
    return Store.values()[(int) Math.floorMod(seed, 3L)];
  }

  /** Creates the plan of a seed: with locks, with names of any kind, or with elections. */
  public static Plan of(long seed, Store store) {
    Plan ofLocks = ofLocks(seed, store);
    SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 12);
    return switch (random.nextInt(5)) {
      case 0, 1 -> ofLocks.withShares(random);
      case 2, 3 -> ofLocks.withElections(random);
      default -> ofLocks;
    };
  }

  /** Creates the plan of a seed with exclusive locks only. */
  public static Plan ofLocks(long seed) {
    return ofLocks(seed, storeOf(seed));
  }

  /** Returns the plan with readers, writers and permits in place of some exclusive locks. */
  private Plan withShares(SplittableRandom random) {
    List<Share> uses = new ArrayList<>();
    // In some worlds all threads want one name, so that many threads of a client wait together.
    int names = random.nextInt(3) == 0 ? 1 : setting.names();
    for (int i = 0; i < names; i++) {
      boolean readWrite = store == Store.MAJORITY || random.nextBoolean();
      uses.add(
          random.nextInt(4) == 0
              ? Share.EXCLUSIVE
              : readWrite ? Share.READ : Share.ofSemaphore(1, 1 + random.nextInt(5)));
    }
    int oneInHeavy = 2 + random.nextInt(6);
    boolean checksPrecedence =
        store == Store.TTL && faults.isEmpty() && !takesAway() && random.nextBoolean();
    boolean ordered = setting.queueing || checksPrecedence;
    boolean disagrees = random.nextInt(4) == 0 && !ordered;
    // The order of waiters is checked only if each client has one waiter for a name.
    List<List<List<Op>>> some =
        ordered ? programs.stream().map(threads -> threads.subList(0, 1)).toList() : programs;
    List<List<List<Op>>> shared =
        changed(
            some,
            op ->
                (ordered ? op.inOrder(checksPrecedence) : op)
                    .withShare(uses, oneInHeavy, disagrees, ordered, setting.ttl, random));
    Setting with = setting.with(uses, setting.queueing, checksPrecedence);
    List<PlannedFault> remainingFaults =
        faults.stream().filter(fault -> fault.thread < shared.get(fault.client).size()).toList();
    return new Plan(seed, store, with, shared, remainingFaults);
  }

  /** Returns the plan with candidates and observers in place of some operations. */
  private Plan withElections(SplittableRandom random) {
    List<List<List<Op>>> elections = changed(programs, op -> op.withElection(setting.ttl, random));
    // Candidates are additional waiters, so the order of waiters is not checked.
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

  /** Creates the plan of a seed on a store, with exclusive locks only. */
  public static Plan ofLocks(long seed, Store store) {
    SplittableRandom random = new SplittableRandom(seed * 0x9E3779B97F4A7C15L + 11);
    boolean undisturbed = random.nextInt(6) == 0;
    // Each client has one waiter for a name, so locks must be granted in the order of arrival.
    boolean queueing = undisturbed && (store == Store.QUEUE || store == Store.MEMORY);
    // Shows the cost of a single request that is never answered.
    boolean silent = undisturbed && store == Store.TTL && random.nextInt(3) != 0;
    // The model of a majority has tokens only while no lock is taken from its holder.
    boolean outside = !undisturbed && store != Store.MAJORITY && random.nextInt(7) == 0;
    // With a short TTL, a request without an answer costs the lease.
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
    // Some worlds repeat one kind of operation, so that it races with itself.
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
    if (!undisturbed) {
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

  private static long upTo(SplittableRandom random, long max) {
    return 1 + random.nextLong(Math.max(1, max));
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
    int optionsDraw = random.nextInt(20);
    LeaseOptions options =
        optionsDraw < 13 || setting.queueing
            ? LeaseOptions.RENEWED
            : optionsDraw < 16
                ? LeaseOptions.NOT_RENEWED
                : optionsDraw < 17
                    ? (random.nextBoolean() ? LeaseOptions.MAX_HOLD : LeaseOptions.MIN_HOLD)
                    : optionsDraw < 18 ? LeaseOptions.DEFAULT : LeaseOptions.WAIT_TIMEOUT;
    Treatment treatment =
        random.nextInt(2) == 0
            ? Treatment.AWAIT
            : Treatment.values()[random.nextInt(Treatment.values().length)];
    int endingDraw = random.nextInt(30);
    Ending ending =
        endingDraw == 0
            ? Ending.FORGET
            : endingDraw < 3 && !setting.silent
                ? Ending.ELSEWHERE
                : endingDraw == 3 ? Ending.TWICE : Ending.RELEASE;
    long hold =
        switch (random.nextInt(10)) {
          case 0 -> upTo(random, 3 * setting.ttl);
          case 1, 2 -> upTo(random, 800 * MS);
          default -> upTo(random, 50 * MS);
        };
    long timeout = random.nextInt(2) == 0 ? upTo(random, 400 * MS) : upTo(random, 2 * setting.ttl);
    int name = random.nextInt(setting.names());
    if (favourite != null && favourite.isOfSet() && !kind.isOfSet() && random.nextInt(2) == 0) {
      // Sets then hold most of their names, and wait for the last.
      name = setting.names() - 1;
      hold = upTo(random, setting.ttl);
    }
    return new Op(
        kind,
        name,
        Share.EXCLUSIVE,
        options,
        treatment,
        ending,
        timeout,
        hold,
        random.nextInt(2) == 0 && !setting.silent,
        random.nextInt(3) != 0,
        random.nextInt(12) == 0 ? 1 + random.nextInt(2) : 0,
        random.nextInt(12) == 0 && !setting.queueing,
        upTo(random, random.nextInt(4) == 0 ? 3_000 * MS : 100 * MS));
  }

  /** Plans several sleeps, each shorter than the session time-out, but longer together. */
  private static PlannedFault naps(SplittableRandom random, Setting setting, int client) {
    return new PlannedFault(
        FaultKind.SHORT_SLEEPS,
        upTo(random, setting.length),
        client,
        0,
        0,
        5 * setting.sessionTimeout);
  }

  private static PlannedFault fault(
      SplittableRandom random, Setting setting, Store store, List<List<List<Op>>> programs) {
    FaultKind[] kinds = FaultKind.values();
    FaultKind kind = kinds[random.nextInt(kinds.length)];
    while ((store == Store.MEMORY && !ON_MEMORY.contains(kind))
        || (kind == FaultKind.SERVER_EMPTY && !setting.outside)
        || ((kind == FaultKind.LEADER
                || kind == FaultKind.LATE_GRANTS
                || kind == FaultKind.SHORT_SLEEPS)
            && store != Store.QUEUE)
        || (kind == FaultKind.DIE && random.nextInt(3) != 0)) {
      kind = kinds[random.nextInt(kinds.length)];
    }
    int client = random.nextInt(programs.size());
    if (kind == FaultKind.SHORT_SLEEPS) {
      return naps(random, setting, client);
    }
    long duration =
        switch (random.nextInt(3)) {
          case 0 -> upTo(random, 200 * MS);
          case 1 -> upTo(random, 3 * setting.ttl);
          default -> upTo(random, setting.ttl);
        };
    // A client that can start no thread from the start has none to fall back on.
    boolean fromTheStart = kind == FaultKind.NO_THREADS && random.nextInt(4) == 0;
    return new PlannedFault(
        kind,
        fromTheStart ? 1 : upTo(random, setting.length),
        client,
        random.nextInt(programs.get(client).size()),
        store == Store.MAJORITY ? random.nextInt(3) : 0,
        duration);
  }
}
