package agent.policy.resolve;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.RandomAccess;

/**
 * An immutable list in blocks. One that differs from it in a few places shares the other blocks, so
 * that a change of a list of thousands copies hundreds.
 */
final class BlockList<T> extends AbstractList<T> implements RandomAccess {
  private static final int MOST_IN_BLOCK = 128;

  /** None is empty. */
  private final Object[][] blocks;

  /** The index of the first element of each block. */
  private final int[] starts;

  private final int size;

  private BlockList(Object[][] blocks) {
    this.blocks = blocks;
    starts = new int[blocks.length];
    int count = 0;
    for (int i = 0; i < blocks.length; i++) {
      starts[i] = count;
      count += blocks[i].length;
    }
    size = count;
  }

  /** Returns the collection itself where it is such a list, else a copy of it. */
  static <T> BlockList<T> of(Collection<T> elements) {
    return elements instanceof BlockList<T> same ? same : new BlockList<>(cut(elements.toArray()));
  }

  /** Returns blocks of about the same length; one that is enough is the array itself. */
  private static Object[][] cut(Object[] elements) {
    final Object[][] cut = new Object[(elements.length + MOST_IN_BLOCK - 1) / MOST_IN_BLOCK][];
    if (cut.length == 1) {
      cut[0] = elements;
      return cut;
    }
    for (int i = 0; i < cut.length; i++) {
      final int from = (int) ((long) elements.length * i / cut.length);
      final int to = (int) ((long) elements.length * (i + 1) / cut.length);
      cut[i] = Arrays.copyOfRange(elements, from, to);
    }
    return cut;
  }

  @Override
  @SuppressWarnings("unchecked") // it has elements of this type alone
  public T get(int index) {
    if (index < 0 || index >= size) {
      throw new IndexOutOfBoundsException(index);
    }
    final int block = blockOf(index);
    return (T) blocks[block][index - starts[block]];
  }

  private int blockOf(int index) {
    int low = 0;
    int high = blocks.length - 1;
    while (low < high) {
      final int middle = low + high + 1 >>> 1;
      if (starts[middle] <= index) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  @Override
  public int size() {
    return size;
  }

  /**
   * Returns a list with other elements in the place of a range.
   *
   * @param from index of the first element that goes, or before which the others come
   * @param to index of the first one that stays behind them
   */
  BlockList<T> replaced(int from, int to, List<? extends T> others) {
    if (from == to && others.isEmpty()) {
      return this;
    }
    if (size == 0) {
      return of(List.copyOf(others));
    }
    final int first = blockOf(Math.min(from, size - 1));
    int last = blockOf(Math.max(to - 1, starts[first]));
    int length = from - starts[first] + others.size() + end(last) - to;
    if (length < MOST_IN_BLOCK / 2 && last + 1 < blocks.length) {
      last++; // small blocks would become many
      length += blocks[last].length;
    }
    final Object[] changed = new Object[length];
    int at = copy(starts[first], from, changed, 0);
    for (final T other : others) {
      changed[at++] = other;
    }
    copy(to, end(last), changed, at);
    final Object[][] cut = cut(changed);
    final int behind = blocks.length - last - 1;
    final Object[][] all = new Object[first + cut.length + behind][];
    System.arraycopy(blocks, 0, all, 0, first);
    System.arraycopy(cut, 0, all, first, cut.length);
    System.arraycopy(blocks, last + 1, all, first + cut.length, behind);
    return new BlockList<>(all);
  }

  /** Copies a range of elements; returns the index behind them. */
  private int copy(int from, int to, Object[] target, int at) {
    int copied = at;
    for (int next = from; next < to; ) {
      final int block = blockOf(next);
      final int length = Math.min(to, end(block)) - next;
      System.arraycopy(blocks[block], next - starts[block], target, copied, length);
      next += length;
      copied += length;
    }
    return copied;
  }

  private int end(int block) {
    return starts[block] + blocks[block].length;
  }
}
