package agent.l7proxy;

import agent.types.IoFailure;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * A file that lines are appended to. One thread writes it; where that is too slow, or the file
 * cannot be written, lines are dropped and counted, and who logs does not wait. It is for its owner
 * alone, and no symbolic link.
 *
 * @param <T> what a line is made of
 */
public final class LogFile<T> implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(LogFile.class);
  private static final int QUEUE_LENGTH = 8192;
  private static final int BUFFER_BYTES = 64 * 1024;
  private static final long RETRY_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long CLOSE_MS = 5_000;

  private final BlockingQueue<T> queue = new ArrayBlockingQueue<>(QUEUE_LENGTH);
  private final LongAdder dropped = new LongAdder();
  private final String name;
  private final Path file;
  private final Function<T, ? extends CharSequence> text;
  private final LongSupplier nanoClock;
  private final Thread writer;
  private final ByteBuffer buffer = ByteBuffer.allocate(BUFFER_BYTES);
  private FileChannel channel;
  private int buffered;
  private boolean isFailing;
  private long failedNs;
  private volatile boolean isReopening;
  private volatile boolean isClosed;

  private LogFile(
      String name, Path file, Function<T, ? extends CharSequence> text, LongSupplier nanoClock) {
    this.name = name;
    this.file = file;
    this.text = text;
    this.nanoClock = nanoClock;
    writer = Thread.ofPlatform().name(name.replace(' ', '-')).daemon().unstarted(this::run);
  }

  /**
   * Opens a file.
   *
   * @param name what messages and the thread call it
   * @param text returns a line with its end; one thread asks it
   * @throws IOException where it cannot be opened
   */
  public static <T> LogFile<T> open(
      String name, Path file, Function<T, ? extends CharSequence> text) throws IOException {
    return open(name, file, text, System::nanoTime);
  }

  static <T> LogFile<T> open(
      String name, Path file, Function<T, ? extends CharSequence> text, LongSupplier nanoClock)
      throws IOException {
    final LogFile<T> log = new LogFile<>(name, file, text, nanoClock);
    log.openFile();
    log.writer.start();
    return log;
  }

  /**
   * Returns why a file could not be opened for lines; empty where it can. Creates and changes
   * nothing.
   */
  public static Optional<String> obstacle(Path file) {
    final Path folder = file.getParent();
    if (Files.isSymbolicLink(file)) {
      return Optional.of(file + ": it is a symbolic link");
    }
    if (Files.isDirectory(file)) {
      return Optional.of(file + ": it is a directory");
    }
    if (!Files.exists(file) && (folder == null || !Files.isDirectory(folder))) {
      return Optional.of(file + ": directory " + folder + " does not exist");
    }
    return Files.isWritable(Files.exists(file) ? file : folder)
        ? Optional.empty()
        : Optional.of(file + ": it cannot be written");
  }

  /** Queues a line; any thread may call. */
  public void write(T line) {
    if (isClosed || !queue.offer(line)) {
      dropped.increment();
    }
  }

  /** Opens the file by its name again, after the next lines at the latest. */
  public void reopen() {
    isReopening = true;
  }

  /** Returns how many lines are not in the file. */
  public long dropped() {
    return dropped.sum();
  }

  private void openFile() throws IOException {
    if (Files.isSymbolicLink(file)) {
      throw new FileSystemException(file.toString(), null, "it is a symbolic link");
    }
    channel =
        FileChannel.open(
            file,
            Set.of(
                StandardOpenOption.CREATE,
                StandardOpenOption.WRITE,
                StandardOpenOption.APPEND,
                LinkOption.NOFOLLOW_LINKS),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
  }

  private void run() {
    while (!isClosed || !queue.isEmpty()) {
      try {
        final T line = queue.poll(100, TimeUnit.MILLISECONDS);
        if (isReopening) {
          isReopening = false;
          flush();
          closeFile();
        }
        if (line != null) {
          append(line);
        }
        if (queue.isEmpty()) {
          flush();
        }
      } catch (InterruptedException e) {
        return;
      } catch (RuntimeException e) {
        dropped.increment();
        LOGGER.warn("{} {}: writing a line failed", name, file, e);
      }
    }
    closeFile();
  }

  private void append(T line) {
    final byte[] bytes = text.apply(line).toString().getBytes(StandardCharsets.UTF_8);
    if (bytes.length > buffer.remaining()) {
      flush();
    }
    if (bytes.length > buffer.remaining()) {
      dropped.increment();
      return;
    }
    buffer.put(bytes);
    buffered++;
  }

  private void flush() {
    if (buffered == 0) {
      return;
    }
    buffer.flip();
    try {
      if (channel == null) {
        if (isFailing && nanoClock.getAsLong() - failedNs < RETRY_NS) {
          dropped.add(buffered);
          return;
        }
        openFile();
      }
      while (buffer.hasRemaining()) {
        channel.write(buffer);
      }
      isFailing = false;
    } catch (IOException e) {
      failed(e);
    } finally {
      buffer.clear();
      buffered = 0;
    }
  }

  private void failed(IOException failure) {
    dropped.add(buffered);
    if (!isFailing) {
      LOGGER.warn("{} {}: writing failed: {}", name, file, IoFailure.reason(failure));
    }
    isFailing = true;
    failedNs = nanoClock.getAsLong();
    closeFile();
  }

  private void closeFile() {
    if (channel == null) {
      return;
    }
    try {
      channel.close();
    } catch (IOException e) {
      LOGGER.warn("{} {}: close: {}", name, file, IoFailure.reason(e));
    }
    channel = null;
  }

  /** Writes what is queued and closes the file. */
  @Override
  public void close() {
    isClosed = true;
    try {
      writer.join(CLOSE_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
