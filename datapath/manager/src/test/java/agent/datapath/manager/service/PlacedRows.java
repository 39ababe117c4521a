package agent.datapath.manager.service;

import agent.datapath.manager.service.ServiceRows.Part;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.agrona.DirectBuffer;

/** The entries of a service by map and key. */
final class PlacedRows {
  private final List<Map<ByteBuffer, byte[]>> maps =
      new ArrayList<>(
          Stream.of(Part.ALL).map(part -> new LinkedHashMap<ByteBuffer, byte[]>()).toList());

  PlacedRows(PlacedService of) {
    final ServiceRows rows = new ServiceRows();
    for (int index = 0; index < ServiceRows.count(of); index++) {
      final Part part = rows.encode(of, index, true);
      maps.get(part.ordinal())
          .put(
              ByteBuffer.wrap(bytes(rows.key(), keyBytes(part))),
              bytes(rows.value(), valueBytes(part)));
    }
  }

  static int keyBytes(Part part) {
    return switch (part) {
      case BACKENDS -> 24;
      case SLOTS, ENDS, CELLS -> 8;
      case HEADERS -> 4;
      case FRONTENDS -> 20;
    };
  }

  static int valueBytes(Part part) {
    return switch (part) {
      case BACKENDS, HEADERS -> 4;
      case SLOTS -> 40;
      case ENDS -> 20;
      case CELLS -> 128;
      case FRONTENDS -> 12;
    };
  }

  private static byte[] bytes(DirectBuffer buffer, int length) {
    final byte[] bytes = new byte[length];
    buffer.getBytes(0, bytes);
    return bytes;
  }

  Map<ByteBuffer, byte[]> of(Part part) {
    return maps.get(part.ordinal());
  }

  Map<ByteBuffer, byte[]> frontends() {
    return of(Part.FRONTENDS);
  }

  Map<ByteBuffer, byte[]> slots() {
    return of(Part.SLOTS);
  }

  Map<ByteBuffer, byte[]> tables() {
    return of(Part.HEADERS);
  }

  Map<ByteBuffer, byte[]> cells() {
    return of(Part.CELLS);
  }

  Map<ByteBuffer, byte[]> ends() {
    return of(Part.ENDS);
  }

  Map<ByteBuffer, byte[]> backends() {
    return of(Part.BACKENDS);
  }
}
