package dev.interlock.internal;

import com.google.common.collect.AbstractIterator;
import dev.interlock.LockState;
import dev.interlock.spi.LockPage;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The held locks whose names begin with a prefix; asks for the next page when it is needed. */
final class Listing extends AbstractIterator<LockState> {

  static final int PAGE_SIZE = 100;

  private final Engine engine;
  private final String prefix;
  private final Set<String> seen = new HashSet<>();
  private Iterator<LockState> page = Collections.emptyIterator();
  private @Nullable String cursor;
  private boolean last;

  Listing(Engine engine, String prefix) {
    this.engine = engine;
    this.prefix = prefix;
  }

  @Override
  protected @Nullable LockState computeNext() {
    while (!page.hasNext() && !last) {
      LockPage next =
          engine.uninterrupted(
              () -> engine.store.list(prefix, cursor, PAGE_SIZE, engine.requestDeadline()));
      page = next.locks().stream().filter(lock -> seen.add(lock.name())).iterator();
      cursor = next.next();
      last = cursor == null;
    }
    return page.hasNext() ? Engine.withLeaseToken(page.next()) : endOfData();
  }
}
