# Runs MariaDB in the working directory, with its data in "data", which are created if they are
# missing. The directory also contains settings.cnf and users.sql.
#
#   sh -c "$(cat mariadb.sh)" NAME PROGRAM
program=$1

prefix=$(dirname "$(dirname "$(readlink -f "$program")")")
for share in "$prefix/share/mysql" "$prefix/share/mariadb" "$prefix/share"; do
  [ ! -e "$share/mysql_system_tables.sql" ] || break
done

# A server deletes temporary files at its start, so it needs a directory of its own for them.
mkdir -p tmp
set -- "$program" --defaults-file=settings.cnf --basedir="$prefix" --lc-messages-dir="$share" \
  --datadir="$PWD/data" --tmpdir="$PWD/tmp"
[ "$(id -u)" != 0 ] || set -- "$@" --user=root

if [ ! -e data/complete ]; then
  rm -rf data
  mkdir data
  {
    echo "CREATE DATABASE mysql;"
    echo "USE mysql;"
    cat "$share/mysql_system_tables.sql" "$share/mysql_performance_tables.sql" \
      "$share/mysql_system_tables_data.sql" users.sql
  } | "$@" --bootstrap && touch data/complete || exit 1
fi
exec "$@"
