/** The wire contract: records with the exact JSON names, and how they are read and written. */
package agent.contract;
