package agent.maps.format;

import agent.maps.layout.ServiceTableFlyweight;
import agent.maps.layout.ServiceTableKeyFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats tables of services as {@code service 7} and {@code version 513 cells 1021}. */
final class ServiceTableFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("service "), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceTableFlyweight table = new ServiceTableFlyweight().wrap(value, valueOffset);
    out.append("version ").append(table.version()).append(" cells ").append(table.cells());
  }

  /** Appends the key of a part of a table. */
  static void appendPart(
      StringBuilder out, MutableDirectBuffer key, int keyOffset, String partName) {
    final ServiceTableKeyFlyweight part = new ServiceTableKeyFlyweight().wrap(key, keyOffset);
    FieldText.unsigned(out.append("service "), part.serviceId());
    out.append(" version ").append(part.version());
    out.append(' ').append(partName).append(' ').append(part.index());
  }
}
