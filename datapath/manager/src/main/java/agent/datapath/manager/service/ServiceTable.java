package agent.datapath.manager.service;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.function.BiPredicate;
import org.agrona.MutableDirectBuffer;

/** A table of entries of services, and which of them are desired. For the conductor's thread. */
interface ServiceTable {
  /** Returns whether the table has room for entries that it does not hold yet. */
  boolean hasRoomFor(Map<ByteBuffer, byte[]> rows);

  /** Begins without desired entries; those that are there stay. */
  void clear();

  /**
   * Writes the entries that the table does not hold yet.
   *
   * @throws agent.maps.kernel.BpfMapException where one is refused
   */
  void put(Map<ByteBuffer, byte[]> rows);

  /** Returns whether the table is to hold an entry with this value. */
  boolean isDesired(ByteBuffer key, byte[] value);

  /**
   * Deletes the entries of the first rows that the second ones have not.
   *
   * @throws agent.maps.kernel.BpfMapException where one is refused; then the others are deleted,
   *     and none is desired any more
   */
  void remove(Map<ByteBuffer, byte[]> rows, Map<ByteBuffer, byte[]> except);

  /** Deletes the entries that are not desired; returns how many there were. */
  int removeOthers();

  /** Collects the entries that are there and that a test accepts. */
  void read(
      BiPredicate<MutableDirectBuffer, MutableDirectBuffer> wanted, Map<ByteBuffer, byte[]> rows);
}
