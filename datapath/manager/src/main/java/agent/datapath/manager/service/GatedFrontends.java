package agent.datapath.manager.service;

import agent.maps.layout.ServiceGate;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.BiPredicate;
import org.agrona.MutableDirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * The table of frontends, which also tells the programs of devices by the map {@code service_gate}
 * whether one of them takes packets from outside.
 */
final class GatedFrontends implements ServiceTable {
  private final ServiceTable frontends;
  private final ServiceTable gate;
  private final Set<ByteBuffer> outside = new HashSet<>();

  /**
   * Creates the table.
   *
   * @param frontends {@code services}
   * @param gate {@code service_gate}
   */
  GatedFrontends(ServiceTable frontends, ServiceTable gate) {
    this.frontends = frontends;
    this.gate = gate;
  }

  @Override
  public boolean hasRoomFor(Map<ByteBuffer, byte[]> rows) {
    return frontends.hasRoomFor(rows);
  }

  /** The gate stays as it is until the next change. */
  @Override
  public void clear() {
    outside.clear();
    gate.clear();
    frontends.clear();
  }

  @Override
  public void put(Map<ByteBuffer, byte[]> rows) {
    frontends.put(rows);
    rows.keySet().stream().filter(ServiceRows::isForOutside).forEach(outside::add);
    writeGate();
  }

  @Override
  public boolean isDesired(ByteBuffer key, byte[] value) {
    return frontends.isDesired(key, value);
  }

  @Override
  public void remove(Map<ByteBuffer, byte[]> rows, Map<ByteBuffer, byte[]> except) {
    rows.keySet().stream().filter(key -> !except.containsKey(key)).forEach(outside::remove);
    try {
      frontends.remove(rows, except);
    } finally {
      writeGate();
    }
  }

  @Override
  public int removeOthers() {
    writeGate();
    return frontends.removeOthers();
  }

  @Override
  public void read(
      BiPredicate<MutableDirectBuffer, MutableDirectBuffer> wanted, Map<ByteBuffer, byte[]> rows) {
    frontends.read(wanted, rows);
  }

  private void writeGate() {
    final ServiceGate state = outside.isEmpty() ? ServiceGate.CLOSED : ServiceGate.OPEN;
    final byte[] value = new byte[Integer.BYTES];
    new UnsafeBuffer(value).putInt(0, state.number());
    gate.put(Map.of(ByteBuffer.wrap(new byte[Integer.BYTES]), value));
  }
}
