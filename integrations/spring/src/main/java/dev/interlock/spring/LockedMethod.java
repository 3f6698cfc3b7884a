package dev.interlock.spring;

import dev.interlock.Acquirable;
import dev.interlock.Lease;
import dev.interlock.LockClient;
import dev.interlock.LockConfigurationException;
import dev.interlock.LockOptions;
import dev.interlock.spi.DurationSyntax;
import dev.interlock.spring.Locked.Mode;
import dev.interlock.spring.Locked.WhenBusy;
import dev.interlock.spring.Locked.WhenLost;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.Nullness;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.expression.EvaluationContext;
import org.springframework.scheduling.annotation.Async;
import org.springframework.util.ClassUtils;

/** A method with its {@link Locked} annotation, read and checked. */
final class LockedMethod {

  private static final ParameterNameDiscoverer PARAMETER_NAMES =
      new DefaultParameterNameDiscoverer();

  private static final Map<Class<?>, Object> EMPTY_RESULTS =
      Map.of(
          Optional.class, Optional.empty(),
          OptionalInt.class, OptionalInt.empty(),
          OptionalLong.class, OptionalLong.empty(),
          OptionalDouble.class, OptionalDouble.empty());

  private final Locked locked;
  private final Method method;
  private final String description;
  private final ConfigurableListableBeanFactory beans;
  private final List<NameExpression> names;
  private final @Nullable Duration waitFor;
  private final Consumer<LockOptions.Builder> options;
  private final String client;

  private LockedMethod(
      Locked locked, Method method, Class<?> type, ConfigurableListableBeanFactory beans) {
    this.locked = locked;
    this.method = method;
    this.description = describe(method, type);
    this.beans = beans;
    this.names = readNames();
    this.waitFor = readWaitFor();
    this.options =
        readOption("ttl", locked.ttl(), LockOptions.Builder::ttl)
            .andThen(readOption("minHold", locked.minHold(), LockOptions.Builder::minHold))
            .andThen(readOption("maxHold", locked.maxHold(), LockOptions.Builder::maxHold));
    this.client = resolve(locked.client());
  }

  /**
   * Reads the annotation of a method.
   *
   * @throws LockConfigurationException if it cannot work on this method
   */
  static LockedMethod read(
      Locked locked, Method method, Class<?> type, ConfigurableListableBeanFactory beans) {
    LockedMethod read = new LockedMethod(locked, method, type, beans);
    read.checkSignature(type);
    read.checkNames();
    return read;
  }

  static String describe(Method method, Class<?> type) {
    String parameters =
        Arrays.stream(method.getParameterTypes())
            .map(ClassUtils::getShortName)
            .collect(Collectors.joining(", ", "(", ")"));
    return ClassUtils.getUserClass(type).getName() + "." + method.getName() + parameters;
  }

  private List<NameExpression> readNames() {
    List<NameExpression> read = new ArrayList<>();
    try {
      for (String text : locked.name()) {
        read.add(NameExpression.ofTemplate(resolve(text)));
      }
      for (String text : locked.expression()) {
        read.add(NameExpression.ofExpression(resolve(text)));
      }
    } catch (IllegalArgumentException e) {
      throw refuse(e.getMessage(), e);
    }
    if (read.isEmpty()) {
      throw refuse(
          "the annotation names no lock; write @Locked(\"orders\") or @Locked(\"order-#{#id}\")");
    }
    if (read.size() > 1 && locked.mode() != Mode.EXCLUSIVE) {
      throw refuse("several names can only be locked exclusively, not with mode " + locked.mode());
    }
    return List.copyOf(read);
  }

  private @Nullable Duration readWaitFor() {
    String text = resolve(locked.waitFor());
    if (text.isEmpty()) {
      return skipsWhenBusy() ? Duration.ZERO : null;
    }
    return text.equals("0") ? Duration.ZERO : readDuration("waitFor", text);
  }

  private Duration readDuration(String attribute, String text) {
    try {
      return DurationSyntax.parse(text);
    } catch (IllegalArgumentException e) {
      throw refuse(attribute + ": " + e.getMessage(), e);
    }
  }

  private Consumer<LockOptions.Builder> readOption(
      String attribute, String given, BiConsumer<LockOptions.Builder, Duration> setter) {
    String text = resolve(given);
    if (text.isEmpty()) {
      return builder -> {};
    }
    Duration value = readDuration(attribute, text);
    Consumer<LockOptions.Builder> option = builder -> setter.accept(builder, value);
    try {
      option.accept(LockOptions.builder());
    } catch (IllegalArgumentException e) {
      throw refuse(e.getMessage(), e);
    }
    return option;
  }

  private String resolve(String text) {
    String resolved;
    try {
      resolved = beans.resolveEmbeddedValue(text);
    } catch (IllegalArgumentException e) {
      throw refuse(e.getMessage(), e);
    }
    if (resolved != null && resolved.contains("${")) { // not every resolver refuses it
      throw refuse("no value is set for a placeholder in \"" + resolved + "\"");
    }
    return resolved == null ? "" : resolved;
  }

  private void checkSignature(Class<?> type) {
    OngoingWork.declaredBy(method, type)
        .ifPresent(
            ongoing -> {
              throw refuse(ongoingWork(ClassUtils.getShortName(ongoing)));
            });
    if (Arrays.stream(method.getParameterTypes())
        .anyMatch(parameter -> parameter.getName().equals("kotlin.coroutines.Continuation"))) {
      throw refuse(ongoingWork("suspending function"));
    }
    if (!allowsTransaction() && isCalledInsideTransaction()) {
      throw refuse(
          "a @TransactionalEventListener is called while its transaction is still bound to the"
              + " thread, even after the commit; set insideTransaction = true, or make the method"
              + " @Async");
    }
    Class<?> returned = method.getReturnType();
    if (skipsWhenBusy() && !canReturnNothing(returned)) {
      throw refuse(
          "whenBusy = SKIP needs a method that can return nothing: void, Optional, or a result"
              + " marked @Nullable; this one returns "
              + ClassUtils.getShortName(returned));
    }
  }

  private static String ongoingWork(String result) {
    return "the work behind a "
        + result
        + " may go on without the lock after the method has returned; return the result of the"
        + " work, or use DistributedLock.acquireAsync() and release the lease when the work ends";
  }

  /**
   * Refuses a result whose work may go on after the return. This is for methods whose declared type
   * does not show it.
   *
   * @throws IllegalStateException if the work may go on
   */
  void checkResult(@Nullable Object result) {
    OngoingWork.behind(result)
        .ifPresent(
            ongoing -> {
              throw new IllegalStateException(
                  this + ": " + ongoingWork(ClassUtils.getShortName(ongoing)));
            });
  }

  /** Spring only logs exceptions of such a listener, so nobody would notice a refused call. */
  private boolean isCalledInsideTransaction() {
    return MergedAnnotations.from(method, MergedAnnotations.SearchStrategy.TYPE_HIERARCHY)
            .isPresent("org.springframework.transaction.event.TransactionalEventListener")
        && !AnnotatedElementUtils.hasAnnotation(method, Async.class)
        && !AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class);
  }

  private boolean canReturnNothing(Class<?> returned) {
    return returned == void.class
        || returned == Void.class
        || EMPTY_RESULTS.containsKey(returned)
        || Nullness.forMethodReturnType(method) == Nullness.NULLABLE;
  }

  private void checkNames() {
    String[] parameters = PARAMETER_NAMES.getParameterNames(method);
    Set<String> variables = new TreeSet<>();
    for (int i = 0; i < method.getParameterCount(); i++) {
      if (parameters != null) {
        variables.add(parameters[i]);
      }
      variables.add("a" + i);
      variables.add("p" + i);
    }
    for (NameExpression name : names) {
      for (String variable : name.variables()) {
        if (!variables.contains(variable)) {
          throw refuse(
              "the method has no parameter #"
                  + variable
                  + (parameters == null
                      ? "; compile the class with -parameters, or use #a0, #a1, ..."
                      : "; an expression may use " + variables));
        }
      }
      for (String bean : name.beans()) {
        if (!beans.containsBean(bean)) {
          throw refuse("there is no bean @" + bean);
        }
      }
    }
  }

  /**
   * Checks the annotation against the options of the client and the capabilities of its backend.
   *
   * @throws LockConfigurationException if the annotation cannot work with the client
   */
  void checkWith(LockClient lockClient) {
    try {
      if (locked.mode() != Mode.EXCLUSIVE) {
        var unused = lockClient.readWriteLock("check", options);
      } else {
        var unused = lockClient.lock("check", options);
      }
      for (NameExpression name : names) {
        if (name.isConstant()) {
          var unused = lockClient.lock(name.evaluate(null));
        }
      }
    } catch (IllegalArgumentException | UnsupportedOperationException e) {
      throw refuse(String.valueOf(e.getMessage()), e);
    }
  }

  /**
   * Returns the names of the locks for a call.
   *
   * @throws IllegalArgumentException if an expression cannot be evaluated
   */
  List<String> names(@Nullable Object target, @Nullable Object[] arguments) {
    List<String> evaluated = new ArrayList<>(names.size());
    EvaluationContext context = null;
    for (NameExpression name : names) {
      if (context == null && !name.isConstant()) {
        context = context(target, arguments);
      }
      try {
        evaluated.add(name.evaluate(context));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(this + ": " + e.getMessage(), e);
      }
    }
    return evaluated;
  }

  private EvaluationContext context(@Nullable Object target, @Nullable Object[] arguments) {
    MethodBasedEvaluationContext context =
        new MethodBasedEvaluationContext(target, method, arguments, PARAMETER_NAMES);
    context.setBeanResolver(new BeanFactoryResolver(beans));
    return context;
  }

  Acquirable<? extends Lease> lock(LockClient lockClient, List<String> evaluated) {
    if (evaluated.size() > 1) {
      return lockClient.multiLock(evaluated, options);
    }
    String name = evaluated.get(0);
    return switch (locked.mode()) {
      case EXCLUSIVE -> lockClient.lock(name, options);
      case READ -> lockClient.readWriteLock(name, options).readLock();
      case WRITE -> lockClient.readWriteLock(name, options).writeLock();
    };
  }

  /**
   * Checks that this method may join the lock of an enclosing call.
   *
   * @throws IllegalStateException if the enclosing call has a shorter {@code minHold} or a longer
   *     {@code maxHold} than this method
   */
  void checkJoins(LockedMethod outer, LockClient lockClient) {
    LockOptions mine = optionsWith(lockClient);
    LockOptions theirs = outer.optionsWith(lockClient);
    Duration minHold = mine.minHold().orElse(Duration.ZERO);
    if (minHold.compareTo(theirs.minHold().orElse(Duration.ZERO)) > 0) {
      throw cannotJoin(outer, "minHold of " + minHold + " or more");
    }
    Duration maxHold = mine.maxHold().orElse(null);
    if (maxHold != null
        && theirs.maxHold().map(limit -> limit.compareTo(maxHold) > 0).orElse(true)) {
      throw cannotJoin(outer, "maxHold of " + maxHold + " or less");
    }
  }

  private LockOptions optionsWith(LockClient lockClient) {
    LockOptions.Builder builder = lockClient.options().toBuilder();
    options.accept(builder);
    return builder.build();
  }

  private IllegalStateException cannotJoin(LockedMethod outer, String limit) {
    return new IllegalStateException(
        this + " joins the lock of an enclosing call, which needs a " + limit + ": " + outer);
  }

  /** Returns the result of a call that was skipped. */
  @Nullable Object emptyResult() {
    return EMPTY_RESULTS.get(method.getReturnType());
  }

  LockConfigurationException refuse(String problem) {
    return refuse(problem, null);
  }

  private LockConfigurationException refuse(@Nullable String problem, @Nullable Throwable cause) {
    return new LockConfigurationException(this + ": " + problem, cause);
  }

  Mode mode() {
    return locked.mode();
  }

  /** Returns how long to wait for the lock, or null to use the client's options. */
  @Nullable Duration waitFor() {
    return waitFor;
  }

  boolean skipsWhenBusy() {
    return locked.whenBusy() == WhenBusy.SKIP;
  }

  boolean interruptsWhenLost() {
    return locked.whenLost() == WhenLost.INTERRUPT;
  }

  boolean allowsTransaction() {
    return locked.insideTransaction();
  }

  boolean declaresInterrupt() {
    return Arrays.stream(method.getExceptionTypes())
        .anyMatch(thrown -> thrown.isAssignableFrom(InterruptedException.class));
  }

  /** Returns the name of the client's bean, or an empty string for the only or primary one. */
  String client() {
    return client;
  }

  @Override
  public String toString() {
    return "@Locked on " + description;
  }
}
