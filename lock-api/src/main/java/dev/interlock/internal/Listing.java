package dev.interlock.internal;

import dev.interlock.LockState;
import dev.interlock.spi.LockPage;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import java.util.Spliterators.AbstractSpliterator;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The held locks whose names begin with a prefix; fetches the next page when it is needed. */
final class Listing extends AbstractSpliterator<LockState> {

  static final int PAGE_SIZE = 100;

  private final Engine engine;
  private final String prefix;
  private final Set<String> seen = new HashSet<>();
  private Iterator<LockState> page = Collections.emptyIterator();
  private @Nullable String cursor;
  private boolean last;

  Listing(Engine engine, String prefix) {
    super(Long.MAX_VALUE, NONNULL);
    this.engine = engine;
    this.prefix = prefix;
  }

  @Override
  public boolean tryAdvance(Consumer<? super LockState> action) {
    while (!page.hasNext() && !last) {
      LockPage next =
          engine.callUninterrupted(
              () -> engine.store.list(prefix, cursor, PAGE_SIZE, engine.requestDeadline()));
      page = next.locks().stream().filter(lock -> seen.add(lock.name())).iterator();
      cursor = next.next();
      last = cursor == null;
    }
    if (!page.hasNext()) {
      return false;
    }
    action.accept(Engine.withLeaseToken(page.next()));
    return true;
  }
}
