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
 * A value made of the contents of files that may be replaced while it is in use: passwords,
 * certificates, keys. Backends {@linkplain #get read it again} whenever they make a connection.
 * While the new contents cannot be used, because a file is missing or half written, the value stays
 * as it is. Both are logged once, without any content. A file that is not a regular one, such as a
 * pipe, is read once only.
 *
 * <p>Thread-safe without a lock, because files may be slow. Of two threads that read different
 * contents at the same time, either may set the value; the next read corrects it.
 *
 * @param <T> the type of the value
 */
public final class FileBacked<T> {

  private static final Logger log = LoggerFactory.getLogger(FileBacked.class);

  /** The thread that logs: requests wait for the files, and must not wait for the log. */
  private static final String LOG = "interlock-log";

  /**
   * Makes the value.
   *
   * @param <T> the type of the value
   */
  @FunctionalInterface
  public interface Maker<T> {
    /**
     * Makes the value.
     *
     * @param contents the contents of the files, in their order
     * @return the value
     * @throws IOException if the contents cannot be used; the message must not quote them
     * @throws GeneralSecurityException like IOException
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
   * @param files their names
   * @param maker makes the value of their contents, each time that these have changed
   * @throws IOException if a file cannot be read, or its content cannot be used
   * @throws GeneralSecurityException if the maker throws it
   */
  public FileBacked(List<Path> files, Maker<T> maker) throws IOException, GeneralSecurityException {
    this.files = files;
    this.maker = maker;
    this.isReadAgain = files.stream().allMatch(Files::isRegularFile);
    List<byte[]> contents = read();
    this.last = new Version<>(contents, maker.make(contents), null);
  }

  /**
   * Reads the files again. Blocks for as long as that takes.
   *
   * @return the value, which is the same object while the files have not changed
   */
  public T get() {
    Version<T> known = last;
    if (!isReadAgain) {
      return known.value();
    }
    try {
      List<byte[]> contents = read();
      if (!Arrays.deepEquals(contents.toArray(), known.contents().toArray())) {
        T value = maker.make(contents);
        replace(known, new Version<>(contents, value, null));
        DaemonThreads.runApart(
            LOG, () -> log.info("{} changed; new connections use the new content", files));
        return value;
      }
      if (known.rejected() != null) {
        replace(known, new Version<>(contents, known.value(), null));
      }
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      String problem = e.toString();
      if (!problem.equals(known.rejected())) {
        replace(known, new Version<>(known.contents(), known.value(), problem));
        DaemonThreads.runApart(
            LOG,
            () ->
                log.warn(
                    "{} cannot be used now ({}); what was read before stays in use",
                    files,
                    problem));
      }
    }
    return known.value();
  }

  /** Another thread may have read newer contents meanwhile. */
  @SuppressWarnings("ReferenceEquality") // versions have an identity
  private synchronized void replace(Version<T> known, Version<T> next) {
    if (last == known) {
      last = next;
    }
  }

  private List<byte[]> read() throws IOException {
    List<byte[]> contents = new ArrayList<>(files.size());
    for (Path file : files) {
      contents.add(Files.readAllBytes(file));
    }
    return contents;
  }
}
