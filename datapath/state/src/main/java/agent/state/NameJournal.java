package agent.state;

import agent.dns.NameLookup;
import agent.types.IoFailure;
import agent.types.OperationException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Lookups that came since all of them were stored: {@code names/added-<n>.json}. Such a file has
 * parts one after the other, each in the form of a state file, and then zeros: room that is there
 * already makes the sync of a part short. A part that a crash has cut is the last one, and no
 * caller had an answer; a file is never continued by the next run. Thread-safe.
 */
final class NameJournal implements AutoCloseable {
  private static final Logger LOGGER = LogManager.getLogger(NameJournal.class);
  private static final String PREFIX = "added-";
  private static final Pattern NAME = Pattern.compile(PREFIX + "(\\d{1,18})");
  private static final byte[] BEGINNING =
      "{\"format\":".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
  private static final byte[] NEXT =
      "\n{\"format\":".getBytes(java.nio.charset.StandardCharsets.US_ASCII);
  private static final int ROOM_BYTES = 256 << 10;

  private final StateFolder<List<NameLookup>> folder;
  private long number;

  /** The present file; null: the next lookup begins one. */
  private AddedFile present;

  private long position;
  private long room;

  /** A file that is open. */
  private static final class AddedFile {
    private final String name;
    private final Path path;
    private final FileChannel channel;

    /** Whether its name may not be durable yet. */
    private volatile boolean isNew = true;

    private AddedFile(String name, Path path, FileChannel channel) {
      this.name = name;
      this.path = path;
      this.channel = channel;
    }
  }

  NameJournal(StateFolder<List<NameLookup>> folder) {
    this.folder = folder;
  }

  private List<Long> numbers() {
    final List<Long> numbers = new ArrayList<>();
    for (final String name : folder.names()) {
      final Matcher matcher = NAME.matcher(name);
      if (matcher.matches()) {
        numbers.add(Long.parseLong(matcher.group(1)));
      }
    }
    numbers.sort(null);
    return numbers;
  }

  /**
   * Returns all lookups in the order in which they came.
   *
   * @throws DamagedStateException where a file has more after a part that cannot be read
   */
  synchronized List<NameLookup> read() throws DamagedStateException {
    final List<NameLookup> all = new ArrayList<>();
    for (final long one : numbers()) {
      final String name = PREFIX + one;
      try {
        read(name, folder.files().read(folder.path(name).getFileName().toString()), all);
      } catch (DamagedStateException e) {
        folder.distrust(name, e.getMessage());
        throw new DamagedStateException(folder.path(name) + ": " + e.getMessage());
      } catch (IOException e) {
        throw new DamagedStateException(folder.path(name) + ": " + IoFailure.reason(e));
      }
    }
    return all;
  }

  private void read(String name, byte[] file, List<NameLookup> all) throws DamagedStateException {
    int offset = 0;
    while (offset < file.length && file[offset] != 0) {
      final long length = StateFile.lengthAt(file, offset);
      try {
        if (length < 0 || length > file.length - offset) {
          throw new DamagedStateException("no whole part at " + offset);
        }
        all.addAll(folder.decoded(Arrays.copyOfRange(file, offset, offset + (int) length)));
      } catch (DamagedStateException e) {
        if (!isUnfinished(file, offset, length)) {
          throw e;
        }
        LOGGER.info("names: skipping an incomplete part: {}", e.getMessage());
        break;
      }
      offset += (int) length;
    }
    if (offset == 0 && folder.written().has(name)) {
      throw new DamagedStateException("its first part is missing");
    }
    if (offset < file.length && file[offset] == 0 && firstOther(file, offset) < file.length) {
      throw new DamagedStateException("zeros at " + offset + ", and more behind them");
    }
    if (offset > 0) {
      folder.written().add(name);
    }
  }

  /**
   * Returns whether a part that cannot be read is one that a crash has cut: it has the beginning of
   * a part, then zeros or the end of the file, and no other part follows.
   */
  private static boolean isUnfinished(byte[] file, int offset, long length) {
    int end = offset;
    while (end < file.length && file[end] != 0) {
      end++;
    }
    final int start = Math.min(end - offset, BEGINNING.length);
    return (length < 0 || end - offset < length)
        && Arrays.equals(file, offset, offset + start, BEGINNING, 0, start)
        && !hasNext(file, offset);
  }

  private static int firstOther(byte[] file, int offset) {
    int at = offset;
    while (at < file.length && file[at] == 0) {
      at++;
    }
    return at;
  }

  private static boolean hasNext(byte[] file, int offset) {
    for (int at = offset; at + NEXT.length <= file.length; at++) {
      if (Arrays.equals(file, at, at + NEXT.length, NEXT, 0, NEXT.length)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Adds lookups, so that {@link #read} finds them; {@link #sync} makes them durable.
   *
   * @throws OperationException where they could not be stored
   */
  synchronized void append(List<NameLookup> lookups) {
    try {
      if (present == null) {
        open();
      }
      final ByteBuffer[] parts = folder.encoded(PREFIX + number, lookups);
      int length = 0;
      for (final ByteBuffer part : parts) {
        length += part.remaining();
      }
      final ByteBuffer whole = ByteBuffer.allocate(length);
      for (final ByteBuffer part : parts) {
        whole.put(part);
      }
      makeRoom(length);
      write(whole.flip(), position);
      position += length;
    } catch (IOException e) {
      rotate();
      throw FolderFiles.failure(folder.path(PREFIX + number), "written", e);
    }
  }

  /**
   * Makes durable what was added; lookups can be added meanwhile.
   *
   * @throws OperationException where that failed
   */
  void sync() {
    final AddedFile file;
    synchronized (this) {
      file = present;
    }
    if (file == null) {
      return;
    }
    try {
      sync(file);
    } catch (ClosedChannelException e) {
      // rotate() has made it durable
    } catch (IOException e) {
      throw FolderFiles.failure(file.path, "written", e);
    }
  }

  private void sync(AddedFile file) throws IOException {
    final boolean isNew = file.isNew;
    folder.sync(file.name, file.channel, isNew);
    if (isNew) {
      file.isNew = false;
      folder.written().add(file.name);
    }
  }

  private void open() throws IOException {
    final List<Long> numbers = numbers();
    number = Math.max(number, numbers.isEmpty() ? 0 : numbers.getLast()) + 1;
    final String name = PREFIX + number;
    final Path path = folder.path(name);
    present = new AddedFile(name, path, folder.files().create(path.getFileName().toString()));
    position = 0;
    room = 0;
  }

  private void makeRoom(int length) throws IOException {
    if (position + length > room) {
      final int more = length + ROOM_BYTES;
      write(ByteBuffer.allocate(more), room);
      room += more;
    }
  }

  private void write(ByteBuffer bytes, long at) throws IOException {
    long next = at;
    while (bytes.hasRemaining()) {
      next += present.channel.write(bytes, next);
    }
  }

  /**
   * Ends the present file and makes it durable; lookups can be added to the next one meanwhile.
   * Returns the files that there were, for {@link #remove}.
   */
  List<Long> rotate() {
    final AddedFile ended;
    final List<Long> numbers;
    synchronized (this) {
      ended = present;
      present = null;
      numbers = numbers();
    }
    if (ended != null) {
      try (FileChannel _ = ended.channel) {
        sync(ended);
      } catch (IOException e) {
        LOGGER.warn("names: {}", IoFailure.reason(e));
      }
    }
    return numbers;
  }

  /**
   * Removes files whose lookups are stored elsewhere; keeps those aside that cannot be read.
   *
   * @throws OperationException where one cannot be removed
   */
  void remove(List<Long> numbers) {
    for (final long one : numbers) {
      try {
        folder.delete(PREFIX + one);
      } catch (IOException e) {
        throw FolderFiles.failure(folder.path(PREFIX + one), "removed", e);
      }
    }
  }

  @Override
  public void close() {
    rotate();
  }
}
