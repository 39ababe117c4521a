package agent.maps.format;

import agent.maps.layout.DropReason;
import agent.maps.layout.MetricsDirection;
import agent.maps.layout.MetricsEntryFlyweight;
import agent.maps.layout.MetricsIndex;
import org.agrona.MutableDirectBuffer;

/** Formats counters as {@code ingress policy-denied} and {@code 12 packets, 1320 bytes}. */
final class MetricsFormat implements MapFormat {
  private static final DropReason[] REASONS = DropReason.values();
  private static final MetricsDirection[] DIRECTIONS = MetricsDirection.values();

  static void appendReason(StringBuilder out, int reason) {
    if (reason < REASONS.length) {
      FieldText.constant(out, REASONS[reason].name());
    } else {
      out.append("reason ").append(reason);
    }
  }

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final int index = key.getInt(keyOffset);
    final int direction = MetricsIndex.direction(index);
    final int reason = MetricsIndex.reason(index);
    if (direction < DIRECTIONS.length) {
      FieldText.constant(out, DIRECTIONS[direction].name());
    } else {
      out.append("direction ").append(direction);
    }
    out.append(' ');
    if (reason == 0) {
      out.append("forwarded");
    } else {
      appendReason(out, reason);
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final MetricsEntryFlyweight entry = new MetricsEntryFlyweight().wrap(value, valueOffset);
    out.append(entry.packets()).append(" packets, ").append(entry.bytes()).append(" bytes");
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return value.getLong(valueOffset + MetricsEntryFlyweight.PACKETS_OFFSET) != 0;
  }
}
