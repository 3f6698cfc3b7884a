package dev.interlock.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.core.ResolvableType;
import org.springframework.http.HttpEntity;
import org.springframework.util.ClassUtils;

/** Recognizes results whose work may go on after a method has returned them. */
final class OngoingWork {

  // By name, because most of their libraries are optional.
  private static final Set<String> TYPES =
      Set.of(
          "java.util.concurrent.Future",
          "java.util.concurrent.CompletionStage",
          "java.util.concurrent.Callable",
          "java.util.concurrent.Flow$Publisher",
          "java.util.stream.BaseStream",
          "kotlin.sequences.Sequence",
          "kotlinx.coroutines.Job",
          "kotlinx.coroutines.channels.ReceiveChannel",
          "kotlinx.coroutines.flow.Flow",
          "org.reactivestreams.Publisher",
          "org.springframework.web.context.request.async.DeferredResult",
          "org.springframework.web.context.request.async.WebAsyncTask",
          "org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
          "org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

  private static final boolean WEB =
      ClassUtils.isPresent(
          "org.springframework.http.HttpEntity", OngoingWork.class.getClassLoader());

  private static final ClassValue<Boolean> IS_ONGOING =
      new ClassValue<>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
          return isOngoing(type);
        }
      };

  private OngoingWork() {}

  private static boolean isOngoing(Class<?> type) {
    return hasListedType(type)
        || ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
  }

  private static boolean hasListedType(@Nullable Class<?> type) {
    return type != null
        && (TYPES.contains(type.getName())
            || hasListedType(type.getSuperclass())
            || Arrays.stream(type.getInterfaces()).anyMatch(OngoingWork::hasListedType));
  }

  /** Returns such a type in a method's declared result or its type arguments, if there is one. */
  static Optional<Class<?>> declaredBy(Method method, Class<?> type) {
    return Optional.ofNullable(
        find(ResolvableType.forMethodReturnType(method, type), new HashSet<>()));
  }

  private static @Nullable Class<?> find(ResolvableType declared, Set<Type> seen) {
    Class<?> type = declared.toClass();
    if (IS_ONGOING.get(type)) {
      return type;
    }
    if (declared.isArray()) {
      return find(declared.getComponentType(), seen);
    }
    for (ResolvableType argument : declared.getGenerics()) {
      // A type variable may occur within its own bound.
      Class<?> found = seen.add(argument.getType()) ? find(argument, seen) : null;
      if (found != null) {
        return found;
      }
    }
    return null;
  }

  /** Returns the type of a result, or of its content, if its work may go on. */
  static Optional<Class<?>> behind(@Nullable Object result) {
    Object value = result;
    if (result instanceof Optional<?> optional) {
      value = optional.orElse(null);
    } else if (WEB && result instanceof HttpEntity<?> entity) {
      value = entity.getBody();
    }
    return value != null && IS_ONGOING.get(value.getClass())
        ? Optional.of(value.getClass())
        : Optional.empty();
  }
}
