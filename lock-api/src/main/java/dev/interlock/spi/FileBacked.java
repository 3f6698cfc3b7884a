package dev.interlock.spi;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A value made of the contents of files that may be replaced while it is in use. While the new
 * contents cannot be used, because a file is missing, empty or half written, the value stays as it
 * is.
 *
 * <p>A pipe is read once: its content would be gone, or a reader would wait for the next.
 *
 * <p>Thread-safe without a lock, because files may be slow. Of two threads that read different
 * contents at the same time, either may set the value; the next read corrects it.
 */
final class FileBacked<T> {

  private static final Logger log = LoggerFactory.getLogger(FileBacked.class);

  /** Makes the value. */
  interface Maker<T> {
    /**
     * Makes the value of the files' contents, in the order of the files.
     *
     * @throws IOException if the contents cannot be used; also the other exceptions
     */
    T make(List<byte[]> contents) throws IOException, GeneralSecurityException;
  }

  /**
   * A value with what it was made of.
   *
   * @param rejected the last contents that could not be used since; null if there are none
   */
  private record Version<T>(List<byte[]> contents, T value, @Nullable String rejected) {}

  private final List<Path> files;
  private final Maker<T> maker;
  private final boolean isReadAgain;
  private volatile Version<T> last;

  /**
   * Reads the files.
   *
   * @throws IOException if one cannot be read, or if the maker throws it; also the other exceptions
   */
  FileBacked(List<Path> files, Maker<T> maker) throws IOException, GeneralSecurityException {
    this.files = files;
    this.maker = maker;
    this.isReadAgain = files.stream().allMatch(Files::isRegularFile);
    List<byte[]> contents = read();
    this.last = new Version<>(contents, maker.make(contents), null);
  }

  /**
   * Reads the files again, and returns the value, which is the same while they have not changed.
   */
  T get() {
    Version<T> known = last;
    if (!isReadAgain) {
      return known.value();
    }
    try {
      List<byte[]> contents = read();
      if (!isSame(contents, known.contents())) {
        T value = maker.make(contents);
        last = new Version<>(contents, value, null);
        log.info("{} changed; new connections use the new content", files);
        return value;
      }
      if (known.rejected() != null) {
        last = new Version<>(contents, known.value(), null);
      }
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      String problem = e.toString();
      if (!problem.equals(known.rejected())) {
        last = new Version<>(known.contents(), known.value(), problem);
        log.warn("{} cannot be used now ({}); what was read before stays in use", files, problem);
      }
    }
    return known.value();
  }

  private List<byte[]> read() throws IOException {
    List<byte[]> contents = new ArrayList<>(files.size());
    for (Path file : files) {
      contents.add(Files.readAllBytes(file));
    }
    return contents;
  }

  private static boolean isSame(List<byte[]> some, List<byte[]> others) {
    for (int i = 0; i < some.size(); i++) {
      if (!Arrays.equals(some.get(i), others.get(i))) {
        return false;
      }
    }
    return true;
  }
}
