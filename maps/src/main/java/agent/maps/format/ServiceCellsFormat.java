package agent.maps.format;

import agent.maps.layout.MapSize;
import agent.maps.layout.ServiceCellsFlyweight;
import org.agrona.MutableDirectBuffer;

/**
 * Formats cells of tables as {@code service 7 version 513 part 2} and {@code backends 0 1 0 ...}.
 */
final class ServiceCellsFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    ServiceTableFormat.appendPart(out, key, keyOffset, "part");
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final ServiceCellsFlyweight cells = new ServiceCellsFlyweight().wrap(value, valueOffset);
    out.append("backends");
    for (int cell = 0; cell < MapSize.SERVICE_CELLS; cell++) {
      out.append(' ').append(cells.backends(cell));
    }
  }
}
