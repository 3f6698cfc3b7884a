package dev.interlock.spi;

import dev.interlock.LockState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A page of a listing; see {@link LockBackend#list}.
 *
 * @param locks the held locks of this page, in any order; may be empty even if more pages follow
 * @param next the cursor of the next page, or null if this is the last one
 */
public record LockPage(List<LockState> locks, @Nullable String next) {

  /**
   * Creates a page with a copy of the list.
   *
   * @param locks the held locks of this page
   * @param next the next cursor, or null
   */
  public LockPage {
    locks = List.copyOf(locks);
  }
}
