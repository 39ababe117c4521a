package agent.maps.format;

import agent.maps.layout.GenerationLayout;
import org.agrona.MutableDirectBuffer;

/**
 * Formats generations as {@code endpoint 12} or {@code outside shard 513}, and {@code owner 3,
 * change 41}. Shards that have never changed are left out.
 */
final class GenerationFormat implements MapFormat {
  private static final long CHANGE_MASK = (1L << GenerationLayout.OWNER_SHIFT) - 1;

  @Override
  public void appendKey(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final int index = key.getInt(keyOffset);
    if (index < GenerationLayout.OUTSIDE) {
      out.append("endpoint ").append(index);
    } else {
      out.append("outside shard ").append(index - GenerationLayout.OUTSIDE);
    }
  }

  @Override
  public void appendValue(
      StringBuilder out,
      MutableDirectBuffer key,
      int keyOffset,
      MutableDirectBuffer value,
      int valueOffset) {
    final long generation = value.getLong(valueOffset);
    FieldText.unsigned(out.append("owner "), (int) (generation >>> GenerationLayout.OWNER_SHIFT));
    out.append(", change ").append(generation & CHANGE_MASK);
  }

  @Override
  public boolean present(MutableDirectBuffer value, int valueOffset) {
    return (value.getLong(valueOffset) & CHANGE_MASK) != 0;
  }
}
