package agent.maps.format;

import agent.maps.layout.ConntrackTable;
import agent.maps.layout.FlowUsageFlyweight;
import java.util.Locale;
import org.agrona.MutableDirectBuffer;

/** Formats the usage of an endpoint as {@code endpoint 12} and {@code tcp4 7 overflowed 3}. */
final class FlowUsageFormat implements MapFormat {
  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    FieldText.unsigned(out.append("endpoint "), key.getInt(keyOffset));
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final FlowUsageFlyweight usage = new FlowUsageFlyweight().wrap(value, valueOffset);
    for (int table = 0; table < FlowUsageFlyweight.OPENED_COUNT; table++) {
      final int entries = usage.opened(table) - usage.credit(table);
      if (entries != 0) {
        out.append(ConntrackTable.values()[table].name().toLowerCase(Locale.ROOT)).append(' ');
        FieldText.unsigned(out, entries);
        out.append(' ');
      }
    }
    out.append("overflowed ").append(Long.toUnsignedString(usage.overflowed()));
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    final FlowUsageFlyweight usage = new FlowUsageFlyweight().wrap(value, valueOffset);
    boolean isUsed = usage.overflowed() != 0;
    for (int table = 0; table < FlowUsageFlyweight.OPENED_COUNT; table++) {
      isUsed |= usage.opened(table) - usage.credit(table) != 0;
    }
    return isUsed;
  }
}
