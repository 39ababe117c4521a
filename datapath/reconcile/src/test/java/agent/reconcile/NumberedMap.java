package agent.reconcile;

import agent.bindings.Errno;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A map in memory from numbers to numbers, which behaves as a trie of the kernel does: it can be
 * full, and a walk whose last key is gone begins again. Allocates nothing but for its log.
 */
final class NumberedMap implements TargetMap {
  private static final int BATCH = 64;
  private static final int TOGETHER = 5;

  final int[] values;
  final boolean[] held;
  final List<String> log = new ArrayList<>();

  private final String name;
  private final UnsafeBuffer key = new UnsafeBuffer(new byte[8]);
  private final UnsafeBuffer value = new UnsafeBuffer(new byte[4]);
  boolean isLogged = true;
  int together = TOGETHER;
  int batchCost = 1;
  int room = Integer.MAX_VALUE;
  int refused = -1;
  int walkFailure;
  int restarts;
  int size;
  int position = -1;
  private final int[] stagedNumbers = new int[TOGETHER];
  private final int[] stagedValues = new int[TOGETHER];
  private int staged;
  private int batchEnd;
  private int visited;
  private int error;

  NumberedMap(String name, int numbers) {
    this.name = name;
    values = new int[numbers];
    held = new boolean[numbers];
  }

  /** Writes an entry as another process does. */
  void set(int number, int to) {
    size += held[number] ? 0 : 1;
    held[number] = true;
    values[number] = to;
  }

  /** Deletes an entry as another process does. */
  void unset(int number) {
    size -= held[number] ? 1 : 0;
    held[number] = false;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public int keyBytes() {
    return 8;
  }

  @Override
  public int valueBytes() {
    return 4;
  }

  @Override
  public int update(DirectBuffer written, DirectBuffer to) {
    final int number = written.getInt(4);
    if (refuses(number)) {
      return -Errno.ENOSPC;
    }
    put(number, to.getInt(0));
    return 0;
  }

  @Override
  public int batch() {
    return together;
  }

  @Override
  public void stage(DirectBuffer written, DirectBuffer to) {
    if (together == 1) {
      return;
    }
    stagedNumbers[staged] = written.getInt(4);
    stagedValues[staged++] = to.getInt(0);
  }

  @Override
  public int updateStaged() {
    int done = 0;
    for (; done < staged && !refuses(stagedNumbers[done]); done++) {
      put(stagedNumbers[done], stagedValues[done]);
    }
    staged = 0;
    return done;
  }

  private boolean refuses(int number) {
    return number == refused || !held[number] && size >= room;
  }

  private void put(int number, int to) {
    note("+", number, to);
    set(number, to);
  }

  @Override
  public int insert(DirectBuffer written, DirectBuffer to) {
    return held[written.getInt(4)] ? -Errno.EEXIST : update(written, to);
  }

  @Override
  public int delete(DirectBuffer deleted) {
    final int number = deleted.getInt(4);
    if (!held[number]) {
      return -Errno.ENOENT;
    }
    if (number == refused) {
      return -Errno.EBUSY;
    }
    note("-", number, 0);
    unset(number);
    return 0;
  }

  private void note(String what, int number, int to) {
    if (isLogged) {
      log.add(what + name + number + (to == 0 ? "" : "=" + to));
    }
  }

  @Override
  public int beginWalk() {
    position = -1;
    batchEnd = -1;
    visited = 0;
    error = 0;
    return walkFailure;
  }

  @Override
  public boolean nextBatch() {
    if (visited >= size + BATCH) {
      error = -Errno.EAGAIN;
      return false;
    }
    if (position >= 0 && !held[position]) {
      position = -1;
      restarts++;
    }
    batchEnd = position;
    int entries = 0;
    for (int i = position + 1; i < held.length && entries < BATCH; i++) {
      if (held[i]) {
        batchEnd = i;
        entries++;
      }
    }
    return entries > 0;
  }

  @Override
  public int batchCost() {
    return batchCost;
  }

  @Override
  public boolean nextOfBatch() {
    while (position < batchEnd) {
      position++;
      if (held[position]) {
        key.putInt(4, position);
        value.putInt(0, values[position]);
        visited++;
        return true;
      }
    }
    return false;
  }

  @Override
  public MutableDirectBuffer key() {
    return key;
  }

  @Override
  public MutableDirectBuffer value() {
    return value;
  }

  @Override
  public int walkError() {
    return error;
  }

  @Override
  public void endWalk() {
    position = -1;
  }

  @Override
  public void forEach(BiConsumer<MutableDirectBuffer, MutableDirectBuffer> visitor) {
    throw new UnsupportedOperationException();
  }

  @Override
  public String text(MutableDirectBuffer named) {
    return name + named.getInt(4);
  }

  @Override
  public RuntimeException failure(String operation, String subject, int result) {
    return new IllegalStateException(
        "map %s: %s (%s): %s".formatted(name, operation, subject, Errno.name(-result)));
  }

  /** Returns the entries, as {@code 3=30 4=40}. */
  String entries() {
    final StringBuilder text = new StringBuilder();
    for (int i = 0; i < held.length; i++) {
      if (held[i]) {
        text.append(text.isEmpty() ? "" : " ").append(i).append('=').append(values[i]);
      }
    }
    return text.toString();
  }

  /** Returns what was written since the last call. */
  List<String> takeLog() {
    final List<String> taken = List.copyOf(log);
    log.clear();
    return taken;
  }

  @Override
  public String toString() {
    return name + Arrays.toString(values);
  }
}
