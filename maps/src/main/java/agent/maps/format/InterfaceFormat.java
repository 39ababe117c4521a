package agent.maps.format;

import agent.maps.layout.InterfaceCellFlyweight;
import org.agrona.MutableDirectBuffer;

/** Formats the cells of interfaces as {@code cell 7} and {@code interface 65543 endpoint 12}. */
final class InterfaceFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("cell "), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final InterfaceCellFlyweight cell = new InterfaceCellFlyweight().wrap(value, valueOffset);
    FieldText.unsigned(out.append("interface "), cell.ifindex());
    FieldText.unsigned(out.append(" endpoint "), cell.endpointId());
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return value.getInt(valueOffset + InterfaceCellFlyweight.IFINDEX_OFFSET) != 0;
  }
}
