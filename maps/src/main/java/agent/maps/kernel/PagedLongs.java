package agent.maps.kernel;

import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * A number for each index of a kernel map, 0 until it is set. Takes memory for those pages of 512
 * numbers alone in which one was set to something else, since few of the ids that a map has room
 * for are in use. One thread sets; every thread reads, and sees a number that was set at some time.
 */
public final class PagedLongs {
  private static final int PAGE_BITS = 9;
  private static final int PAGE = 1 << PAGE_BITS;

  private final AtomicReferenceArray<AtomicLongArray> pages;
  private final int length;

  /** Sets all numbers to 0. */
  public PagedLongs(int length) {
    this.length = length;
    pages = new AtomicReferenceArray<>((length + PAGE - 1) >>> PAGE_BITS);
  }

  /** Returns the number of indexes. */
  public int length() {
    return length;
  }

  /** Returns the number of an index. */
  public long get(int index) {
    final AtomicLongArray page = pages.getAcquire(index >>> PAGE_BITS);
    return page == null ? 0 : page.getOpaque(index & PAGE - 1);
  }

  /** Sets the number of an index; allocates at the first number of a page that is not 0. */
  public void set(int index, long value) {
    AtomicLongArray page = pages.getPlain(index >>> PAGE_BITS);
    if (page == null) {
      if (value == 0) {
        return;
      }
      page = new AtomicLongArray(PAGE);
      pages.setRelease(index >>> PAGE_BITS, page);
    }
    page.setOpaque(index & PAGE - 1, value);
  }
}
