package dev.interlock.spi;

import dev.interlock.LockState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A part of a listing; see {@link LockBackend#list}.
 *
 * @param locks the held locks of this part, in any order; may be empty even if more parts follow
 * @param next the cursor of the next part, or null if this is the last one
 */
public record LockPage(List<LockState> locks, @Nullable String next) {

  /**
   * Makes a page; copies the list.
   *
   * @param locks the held locks of this part
   * @param next the next cursor, or null
   */
  public LockPage {
    locks = List.copyOf(locks);
  }
}
