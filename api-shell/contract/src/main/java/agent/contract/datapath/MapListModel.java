package agent.contract.datapath;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * All open BPF maps.
 *
 * @param maps maps
 */
public record MapListModel(@JsonProperty("maps") List<MapModel> maps) {}
