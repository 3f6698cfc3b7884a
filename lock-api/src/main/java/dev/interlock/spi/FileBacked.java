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
 * A value that is made from the contents of files, such as passwords, certificates and keys. The
 * files may be replaced while the value is in use: backends {@linkplain #get read them again}
 * whenever they open a connection. If the new contents cannot be used, because a file is missing or
 * half written, the value stays as it is. Changes and failures are each logged once, without any
 * content. A file that is not a regular file, such as a pipe, is read only once.
 *
 * <p>Thread-safe without a lock around the reads, because files may be slow. If two threads read
 * different contents at the same time, either may set the value; the next read corrects it.
 *
 * @param <T> the type of the value
 */
public final class FileBacked<T> {

  private static final Logger log = LoggerFactory.getLogger(FileBacked.class);

  /** A thread of its own writes to the log, so that no request waits for the log. */
  private static final String LOG_THREAD = "interlock-log";

  /**
   * Creates the value from the contents of the files.
   *
   * @param <T> the type of the value
   */
  @FunctionalInterface
  public interface Maker<T> {
    /**
     * Creates the value.
     *
     * @param contents the contents of the files, in the order of the files
     * @return the value
     * @throws IOException if the contents cannot be used; the message must not quote them
     * @throws GeneralSecurityException as IOException
     */
    T make(List<byte[]> contents) throws IOException, GeneralSecurityException;
  }

  /**
   * A value and the contents that it was made from.
   *
   * @param rejected the failure of the last contents, if they could not be used; null otherwise
   */
  private record Version<T>(List<byte[]> contents, T value, @Nullable String rejected) {}

  private final List<Path> files;
  private final Maker<T> maker;
  private final boolean isReadAgain;
  private volatile Version<T> version;

  /**
   * Reads the files.
   *
   * @param files their names
   * @param maker makes the value from their contents, each time that these have changed
   * @throws IOException if a file cannot be read, or its content cannot be used
   * @throws GeneralSecurityException if the maker throws it
   */
  public FileBacked(List<Path> files, Maker<T> maker) throws IOException, GeneralSecurityException {
    this.files = files;
    this.maker = maker;
    this.isReadAgain = files.stream().allMatch(Files::isRegularFile);
    List<byte[]> contents = read();
    this.version = new Version<>(contents, maker.make(contents), null);
  }

  /**
   * Reads the files again. Blocks for as long as that takes.
   *
   * @return the value; the same object until the files have changed
   */
  public T get() {
    Version<T> current = version;
    if (!isReadAgain) {
      return current.value();
    }
    try {
      List<byte[]> contents = read();
      if (!Arrays.deepEquals(contents.toArray(), current.contents().toArray())) {
        T value = maker.make(contents);
        replace(current, new Version<>(contents, value, null));
        DaemonThreads.runApart(
            LOG_THREAD, () -> log.info("{} changed; new connections use the new content", files));
        return value;
      }
      if (current.rejected() != null) {
        replace(current, new Version<>(contents, current.value(), null));
      }
    } catch (IOException | GeneralSecurityException | RuntimeException e) {
      String problem = e.toString();
      if (!problem.equals(current.rejected())) {
        replace(current, new Version<>(current.contents(), current.value(), problem));
        DaemonThreads.runApart(
            LOG_THREAD,
            () ->
                log.warn(
                    "{} cannot be used now ({}); the previous content stays in use",
                    files,
                    problem));
      }
    }
    return current.value();
  }

  /** Does nothing if another thread has read newer contents meanwhile. */
  @SuppressWarnings("ReferenceEquality") // versions have an identity
  private synchronized void replace(Version<T> expected, Version<T> next) {
    if (version == expected) {
      version = next;
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
