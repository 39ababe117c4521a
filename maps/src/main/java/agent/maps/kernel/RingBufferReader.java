package agent.maps.kernel;

import agent.bindings.MappedMemory;
import java.util.List;
import org.agrona.UnsafeApi;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * Reads a BPF ring buffer by walking its mapped pages: no system call, no allocation. One thread
 * polls it; {@link #fd()} can be waited for with epoll.
 *
 * <p>The kernel maps the data pages twice in a row, so that no record wraps (kernel/bpf/ringbuf.c).
 */
public final class RingBufferReader implements AutoCloseable {
  /** Receives records. */
  @FunctionalInterface
  public interface RecordHandler {
    /** Handles one record, readable during the call. */
    void onRecord(UnsafeBuffer buffer, int offset, int length);
  }

  private static final int HEADER_LENGTH = 8;
  private static final int BUSY = 1 << 31;
  private static final int DISCARDED = 1 << 30;
  private static final int LENGTH_MASK = DISCARDED - 1;

  private final int fd;
  private final int mask;
  private final UnsafeBuffer consumer;
  private final UnsafeBuffer producer;
  private final UnsafeBuffer data;
  private final List<MappedMemory> mappings;

  /**
   * Maps the ring.
   *
   * @throws agent.bindings.BindingsException where the kernel does not map it
   */
  public RingBufferReader(BpfMap map) {
    this(map.fd(), map.maxEntries(), map(map.fd(), map.maxEntries()));
  }

  private RingBufferReader(int fd, int size, List<MappedMemory> mappings) {
    final int pageSize = UnsafeApi.pageSize();
    final long consumerAddress = mappings.getFirst().address();
    final long producerAddress = mappings.getLast().address();
    this(
        fd,
        mappings,
        new UnsafeBuffer(consumerAddress, pageSize),
        new UnsafeBuffer(producerAddress, pageSize),
        new UnsafeBuffer(producerAddress + pageSize, 2 * size));
  }

  /**
   * Creates a reader of a ring in the layout of the kernel.
   *
   * @param mappings unmapped by {@link #close()}
   */
  RingBufferReader(
      int fd,
      List<MappedMemory> mappings,
      UnsafeBuffer consumer,
      UnsafeBuffer producer,
      UnsafeBuffer data) {
    this.fd = fd;
    mask = data.capacity() / 2 - 1;
    this.mappings = mappings;
    this.consumer = consumer;
    this.producer = producer;
    this.data = data;
  }

  /** Maps the page of the consumer position, then the rest. */
  private static List<MappedMemory> map(int fd, int size) {
    final int pageSize = UnsafeApi.pageSize();
    final MappedMemory consumerPage = MappedMemory.map(fd, 0, pageSize, true);
    try {
      return List.of(consumerPage, MappedMemory.map(fd, pageSize, pageSize + 2L * size, false));
    } catch (RuntimeException e) {
      consumerPage.close();
      throw e;
    }
  }

  public int fd() {
    return fd;
  }

  /**
   * Passes complete records to the handler and consumes each before the next; a record whose
   * handler throws is consumed, too.
   *
   * @return the number of records handled, at most {@code limit}
   */
  public int poll(RecordHandler handler, int limit) {
    int handled = 0;
    long position = consumer.getLongVolatile(0);
    final long end = producer.getLongVolatile(0);
    while (position < end && handled < limit) {
      final int offset = (int) position & mask;
      final int header = data.getIntVolatile(offset);
      if ((header & BUSY) != 0) {
        break;
      }
      final int length = header & LENGTH_MASK;
      position += length + HEADER_LENGTH + 7 & ~7L;
      try {
        if ((header & DISCARDED) == 0) {
          handled++;
          handler.onRecord(data, offset + HEADER_LENGTH, length);
        }
      } finally {
        consumer.putLongRelease(0, position);
      }
    }
    return handled;
  }

  /** Unmaps the ring; the map stays. */
  @Override
  public void close() {
    consumer.wrap(0, 0);
    producer.wrap(0, 0);
    data.wrap(0, 0);
    for (final MappedMemory mapping : mappings) {
      mapping.close();
    }
  }
}
